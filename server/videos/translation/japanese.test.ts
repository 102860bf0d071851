import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isJapanese } from './japanese.ts'

test('Japanese prompts are Japanese, in kana, in half width and in kanji alone', () => {
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

test('other prompts are not: English, Chinese of both writings, Korean, and kanji that could be either', () => {
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
