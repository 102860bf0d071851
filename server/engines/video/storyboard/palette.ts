import type { SeededRandom } from '../../seeded-random.ts'

export type SceneKind = 'hills' | 'sea' | 'city' | 'forest' | 'dunes'

/** Colors of a scene: `sky` from top to horizon, the sun or moon in it, `land` from far to near. */
export type Palette = {
  sky: readonly [string, string, string]
  light: string
  land: readonly [string, string, string]
  accent: string
  stars: boolean
}

const PALETTES: Record<string, Palette> = {
  dusk: colors('#1b1b46 #7a3b6e #f2945c', '#ffd9a0', '#6d3a66 #43254f #1d1230', '#ffb36b'),
  dawn: colors('#23416b #6f7fa8 #f3c3a0', '#fff0d2', '#6f7d9c #455576 #1c2a44', '#ffd29a'),
  night: colors('#070b1d #14224a #35507f', '#e8f0ff', '#22365f #152445 #070d1f', '#9cc4ff', 'stars'),
  aurora: colors('#050f22 #0b3b4a #2c8a78', '#c9ffe9', '#14505a #0b3040 #04141f', '#7ff0c4', 'stars'),
  noon: colors('#0f4c86 #3684b8 #a9d6e2', '#fffbe6', '#5c93a8 #2f6a80 #103a4e', '#ffe08a'),
  ember: colors('#240c1c #6f1f2c #e0653a', '#ffc27a', '#6a2430 #401422 #180710', '#ff9a5c'),
  meadow: colors('#1d4a57 #5b8c83 #e2cf97', '#fff3c4', '#5d8570 #356151 #12332e', '#f4d979'),
  frost: colors('#233b5e #5c7fa6 #c5d5e4', '#ffffff', '#8fa9c4 #5b7799 #213a5a', '#bfe3ff'),
}

/** What a word in the prompt suggests. First match wins within each list; English and Japanese. */
const SCENES_BY_WORD: readonly [RegExp, SceneKind][] = [
  [/\b(sea|ocean|beach|wave|boat|ship|harbou?r|lake|river|surf|island|underwater)|海|波|浜|船|湖|港|川|島/i, 'sea'],
  [
    /\b(city|street|town|building|skyline|neon|tokyo|urban|car|office|subway|train station|rooftop)|街|都市|東京|駅|ビル|通り|夜景/i,
    'city',
  ],
  [/\b(forest|tree|wood|jungle|pine|garden|park|deer|fox|bear)|森|林|木|庭|公園/i, 'forest'],
  [/\b(desert|dune|sand|camel|mars|canyon)|砂漠|砂/i, 'dunes'],
  [/\b(mountain|hill|valley|field|meadow|peak|snow)|山|丘|谷|雪|草原|野/i, 'hills'],
]

const MOODS_BY_WORD: readonly [RegExp, readonly string[]][] = [
  [/\b(night|midnight|moon|star|space|galaxy|dark|neon)|夜|月|星|宇宙/i, ['night', 'aurora']],
  [/\b(sunset|dusk|evening|golden hour|twilight)|夕|黄昏/i, ['dusk', 'ember']],
  [/\b(sunrise|dawn|morning|mist|fog)|朝|霧/i, ['dawn', 'meadow']],
  [/\b(snow|winter|ice|frost|cold)|雪|冬|氷/i, ['frost', 'aurora']],
  [/\b(fire|volcano|war|desert|lava|autumn)|火|炎|秋|紅葉|砂漠/i, ['ember', 'dusk']],
  [/\b(spring|summer|sunny|noon|day|sky|blue)|春|夏|昼|青空|晴/i, ['noon', 'meadow', 'dawn']],
]

const ALL_SCENES: readonly SceneKind[] = ['hills', 'sea', 'forest', 'dunes', 'city']

/** The colors and the sequence of scenes for a prompt. */
export function moodOf(prompt: string, random: SeededRandom): { palette: Palette; scenes: SceneKind[] } {
  const moods = MOODS_BY_WORD.find(([word]) => word.test(prompt))?.[1] ?? Object.keys(PALETTES)
  const named = SCENES_BY_WORD.filter(([word]) => word.test(prompt)).map(([, scene]) => scene)
  const fitting = ALL_SCENES.filter((scene) => scene !== 'city' && scene !== 'dunes')
  const scenes = named.length > 0 ? named : [random.pick(fitting), random.pick(fitting)]
  return { palette: PALETTES[random.pick(moods)]!, scenes }
}

function colors(sky: string, light: string, land: string, accent: string, stars?: 'stars'): Palette {
  const three = (list: string) => list.split(' ') as [string, string, string]
  return { sky: three(sky), light, land: three(land), accent, stars: stars !== undefined }
}
