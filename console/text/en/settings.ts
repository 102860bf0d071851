export default {
  title: 'Settings',
  empty: 'Nothing to set yet',
}
