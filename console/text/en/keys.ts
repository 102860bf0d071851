export default {
  title: 'API keys',
  empty: 'No API keys yet',
}
