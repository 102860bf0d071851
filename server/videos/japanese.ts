/**
 * Whether text is Japanese and so has to be translated: two kana, or any kana where kana and kanji make up a tenth of the letters.
 * Kanji alone is Japanese only with a form that no Chinese writing has and without one that only simplified Chinese has; otherwise it
 * is left as it is, for engines read Chinese. Pass it the text without dialogue and quotations.
 * Source: docs/engines.md, translation.
 */
export function isJapanese(text: string): boolean {
  const kana = count(text, KANA)
  if (kana >= 2) return true
  const han = count(text, HAN)
  if (kana > 0) return (kana + han) * 10 > count(text, LETTER)
  if (han === 0) return false
  return ONLY_JAPANESE.test(text) && !ONLY_SIMPLIFIED.test(text)
}

/** True when a Japanese syllable stands in the text, full or half width. */
export function hasKana(text: string): boolean {
  return text.search(KANA) !== -1
}

const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/gu
const HAN = /\p{Script=Han}/gu
const LETTER = /\p{Letter}/gu

/** Simplified forms of Japan that neither Chinese writing has, characters made in Japan, and marks of its writing. */
const ONLY_JAPANESE = anyOf(
  '円売図広駅気発変対経済県検権験険剣圏顕厳効鉱砕剤雑桟児実釈収従渋縦粛処渉焼乗浄畳縄壌嬢譲醸粋酔穂髄瀬斉斎摂専戦銭繊曽荘捜挿',
  '巣騒増蔵臓続帯滝択沢単団弾遅鋳庁徴聴逓鉄転伝闘徳読悩脳覇廃拝髪抜払仏辺舗豊毎満黙訳薬揺様謡頼覧竜両猟塁涙霊齢労',
  '亜悪圧囲壱稲隠営栄塩応桜価仮壊懐絵拡殻覚楽巻勧寛関歓観帰犠戯拠挙郷暁勲恵掲渓蛍軽継鶏撃倹剰歩頬姉戻黒歳氷舎',
  '働込畑峠辻枠栃匂凪榊雫塀笹躾凧麿俣鰯鱈樫椛噺囃糀籾鋲襷々〆',
)

/** Frequent simplified forms that Japanese never writes. */
const ONLY_SIMPLIFIED = anyOf(
  '们这说为个时还进开关头东车马鸟鱼门问间见语话让谁请认识谢红绿蓝长张风飞电业乐书买卖亲爱岁华单图园场动务办边达运远连迟处备复够妈',
  '孙宁审对导层岛师帮广庆应强归录总戏战护报拥择据晓术杀构枪树样桥梦欢汉汤沟泪济测浓滨满灭灵爷牵猎玛环现盘矿码离稳穷笔简类紧纪',
  '线练组细终结给络绝统继续维综编缘网罗职联肃脑脸腾艺节荣药莱获虽补观规觉览计订议讨训记讲设访评词试诗误读课调谈负财贝质贵费资赛',
  '赢趋跃踪转轮轻辆辽过迈违选遗邮释钟钢钱铁银错键镇闪闭闲闻队阳阴阵阶际陆陈险随难雾韩页顶项顺须预领频题颜饭饮馆驶骑骗鲜鸡鸣鸿齐龙龟',
)

function anyOf(...characters: string[]): RegExp {
  return new RegExp(`[${characters.join('')}]`, 'u')
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}
