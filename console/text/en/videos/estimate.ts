/** How long a video is likely to take. */
export default {
  seconds: '{{n}} s',
  minutes: '{{n}} min',
  total: 'Takes about {{typical}}; usually {{low}} to {{high}}.',
  total_alike: 'Takes about {{typical}}.',
  waiting: 'About {{typical}} of it waiting for a renderer.',
}
