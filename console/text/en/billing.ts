export default {
  title: 'Billing',
  empty: 'No entries yet',
}
