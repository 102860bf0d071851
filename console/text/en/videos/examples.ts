const BOAT =
  'A paper boat drifts across a still lake at dawn. Mist over the water, soft golden light. The camera follows slowly at water level. Gentle lapping, a distant bird.'
const DINER =
  'A late-night diner, rain on the window. A waitress pours coffee for a tired traveler and smiles. <d>Long road?</d> He looks up. <d>The longest.</d> Warm light, shallow focus, a low hum of neon.'
const RUNNER =
  'A runner on a ridge above the clouds at sunrise, seen from a drone that circles and pulls back to show the whole mountain range. Wind, fast breath, footsteps on gravel.'

export default {
  boat: { name: 'A quiet scene', prompt: BOAT, prompt_in_english: BOAT },
  diner: { name: 'With dialogue', prompt: DINER, prompt_in_english: DINER },
  runner: { name: 'Motion and camera', prompt: RUNNER, prompt_in_english: RUNNER },
}
