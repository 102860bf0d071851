export default {
  title: 'Docs',
  empty: 'No guides yet',
}
