/** Names, tags and favorites of videos, and work on many of them: loaded with what uses them. */
export default {
  favorite: 'Favorite: {{name}}',
  title: 'Name and tags',
  name: 'Name',
  name_placeholder: 'No name',
  tags: 'Tags',
  tag_placeholder: 'Add a tag',
  tags_full: 'A video has at most {{count}} tags.',
  remove_tag: 'Remove the tag {{tag}}',
  shared: 'Everyone in the organization sees these.',

  filter_tag: 'Tag',
  any_tag: 'Any tag',
  filter_favorite: 'Favorites',
  all_videos: 'All videos',
  only_favorites: 'Your favorites',
}
