import assert from 'node:assert/strict'
import { test } from 'node:test'
import { JOYO_KANJI } from '../../../test/support/data/joyo-kanji.ts'
import { isJapanese, JAPANESE_FORMS, SIMPLIFIED_FORMS } from './detect-japanese.ts'

test('Japanese prompts are detected in kana, in half width and in kanji alone', () => {
  for (const text of [
    '猫が歩く',
    'ネコ',
    'ﾈｺがいる',
    '東京駅前、雨天、夜景',
    '売店の前',
    '佐々木邸',
    '1匹の cat',
    'の猫と犬',
    '桜並木、黒猫',
    '峠道',
  ])
    assert.ok(isJapanese(text), text)
})

test('other prompts are not detected: English, Chinese in both scripts, Korean, and kanji that could be either', () => {
  for (const text of [
    '',
    'a cat walks',
    '一只猫在街上走，们',
    '夜晚的城市，霓虹灯闪烁，电影感',
    '一隻黑貓走在東京街頭',
    '猫',
    '山水',
    '고양이가 걷는다',
    'The sign の is a long English sentence about something else entirely',
    '12345 !?',
  ])
    assert.ok(!isJapanese(text), text)
})

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i)
const JIS_LEVEL_1 = hanOf('euc-jp', range(0xb0, 0xcf), range(0xa1, 0xfe))
const JIS = hanOf('euc-jp', range(0xb0, 0xf4), range(0xa1, 0xfe))
const GB_2312 = hanOf('gbk', range(0xb0, 0xf7), range(0xa1, 0xfe))
const BIG5 = hanOf('big5', range(0xa4, 0xf9), [...range(0x40, 0x7e), ...range(0xa1, 0xfe)])

/** Variants that Chinese text has although neither GB 2312 nor Big5 does. */
const WRITTEN_IN_CHINA = new Set('峯疎遡焔呑兎')

test('forms that only Japan writes are in JIS X 0208 and in no Chinese character set, and cover all such forms of level 1', () => {
  const forms = [...JAPANESE_FORMS].filter((form) => !/[々〆]/.test(form))
  assert.deepEqual(
    forms.filter((form) => !JIS.has(form) || GB_2312.has(form) || BIG5.has(form)),
    [],
  )
  const expected = [...JIS_LEVEL_1].filter((form) => !GB_2312.has(form) && !BIG5.has(form))
  assert.deepEqual(
    expected.filter((form) => !JAPANESE_FORMS.has(form)).sort(),
    [...WRITTEN_IN_CHINA].filter((form) => JIS_LEVEL_1.has(form)).sort(),
  )
  assert.ok(forms.length > 350 && forms.length < 420, `${forms.length}`)
})

test('no jōyō kanji is among the simplified Chinese forms, and each that only Japan writes is among the Japanese forms', () => {
  assert.equal(JOYO_KANJI.size, 2136)
  assert.deepEqual(
    [...JOYO_KANJI].filter((kanji) => SIMPLIFIED_FORMS.has(kanji)),
    [],
  )
  const own = [...JOYO_KANJI].filter((kanji) => JIS_LEVEL_1.has(kanji) && !GB_2312.has(kanji) && !BIG5.has(kanji))
  assert.ok(own.length > 200)
  assert.deepEqual(
    own.filter((kanji) => !JAPANESE_FORMS.has(kanji) && !WRITTEN_IN_CHINA.has(kanji)),
    [],
  )
  for (const shared of '据随国学会来万与')
    assert.ok(!SIMPLIFIED_FORMS.has(shared) && !JAPANESE_FORMS.has(shared), shared)
})

test('forms that only simplified Chinese writes are in GB 2312 alone', () => {
  assert.deepEqual(
    [...SIMPLIFIED_FORMS].filter((form) => !GB_2312.has(form) || JIS.has(form) || BIG5.has(form)),
    [],
  )
  assert.ok(SIMPLIFIED_FORMS.size > 2000)
})

/** Of our own wording, as people describe scenes in either writing. */
const SIMPLIFIED = [
  '清晨的雾气笼罩着山谷，一位老人牵着马慢慢走过石桥，镜头从远处拉近。',
  '女孩站在车站的月台上，风吹起她的头发，列车进站，灯光闪烁，画面变慢。',
  '厨房里，厨师把面条放进锅里，蒸汽升起，窗外下着大雨，电视里传来新闻的声音。',
  '无人机飞越沙漠，夕阳把沙丘染成红色，骆驼队排成一列，影子很长。',
  '据说这座桥建于宋代，随着季节变化，两岸的树叶由绿转黄。',
]
const TRADITIONAL = [
  '清晨的霧氣籠罩著山谷，一位老人牽著馬慢慢走過石橋，鏡頭從遠處拉近。',
  '女孩站在車站的月台上，風吹起她的頭髮，列車進站，燈光閃爍，畫面變慢。',
  '廚房裡，廚師把麵條放進鍋裡，蒸氣升起，窗外下著大雨，電視裡傳來新聞的聲音。',
  '無人機飛越沙漠，夕陽把沙丘染成紅色，駱駝隊排成一列，影子很長。',
  '夜市的攤位賣著鱈魚和海鮮，老闆娘笑著招呼客人，霓虹招牌在雨中發亮。',
]

test('Chinese in either script has no Japanese form; every simplified sentence has a simplified form, no traditional one has', () => {
  for (const sentence of [...SIMPLIFIED, ...TRADITIONAL])
    assert.deepEqual(
      [...sentence].filter((character) => JAPANESE_FORMS.has(character)),
      [],
      sentence,
    )
  for (const sentence of SIMPLIFIED)
    assert.ok(
      [...sentence].some((each) => SIMPLIFIED_FORMS.has(each)),
      sentence,
    )
  for (const sentence of TRADITIONAL) assert.ok(![...sentence].some((each) => SIMPLIFIED_FORMS.has(each)), sentence)
})

/** The Chinese characters of two bytes of an encoding. */
function hanOf(encoding: string, first: readonly number[], second: readonly number[]): ReadonlySet<string> {
  const decoder = new TextDecoder(encoding)
  const found = first.flatMap((a) => second.map((b) => decoder.decode(Uint8Array.of(a, b))))
  return new Set(found.filter((character) => /^\p{Script=Han}$/u.test(character)))
}
