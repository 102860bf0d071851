export default {
  title: 'Chat',
  empty: 'No conversation yet',
}
