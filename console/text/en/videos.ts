export default {
  title: 'Videos',
  empty: 'No videos yet',
}
