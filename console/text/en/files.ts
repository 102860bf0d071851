export default {
  title: 'Files',
  empty: 'No files yet',
}
