export default {
  title: 'Members',
  empty: 'Nobody else is here yet',
}
