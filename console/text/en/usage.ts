export default {
  title: 'Usage',
  empty: 'Nothing used yet',
}
