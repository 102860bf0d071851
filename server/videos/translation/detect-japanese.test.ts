import assert from 'node:assert/strict'
import { test } from 'node:test'
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

/** The 2,136 jōyō kanji of 2010. Source: https://www.bunka.go.jp/kokugo_nihongo/sisaku/joho/joho/kijun/naikaku/kanji/ */
const JOYO_KANJI: ReadonlySet<string> = new Set(
  [
    '一丁七万丈三上下不与且世丘丙両並中串丸丹主丼久乏乗乙九乞乱乳乾亀了予争事二互五井亜亡交享京亭人仁今介仏仕他付仙代令以仮仰',
    '仲件任企伎伏伐休会伝伯伴伸伺似但位低住佐体何余作佳併使例侍供依価侮侯侵侶便係促俊俗保信修俳俵俸俺倉個倍倒候借倣値倫倹偉偏',
    '停健側偵偶偽傍傑傘備催傲債傷傾僅働像僕僚僧儀億儒償優元兄充兆先光克免児党入全八公六共兵具典兼内円冊再冒冗写冠冥冬冶冷凄准',
    '凍凝凡処凶凸凹出刀刃分切刈刊刑列初判別利到制刷券刹刺刻則削前剖剛剝剣剤副剰割創劇力功加劣助努励労効劾勃勅勇勉動勘務勝募勢',
    '勤勧勲勾匂包化北匠匹区医匿十千升午半卑卒卓協南単博占印危即却卵卸厄厘厚原厳去参又及友双反収叔取受叙口古句叫召可台叱史右号',
    '司各合吉同名后吏吐向君吟否含吸吹呂呈呉告周呪味呼命和咲咽哀品員哲哺唄唆唇唐唯唱唾商問啓善喉喚喜喝喩喪喫営嗅嗣嘆嘱嘲器噴嚇',
    '囚四回因団困囲図固国圏園土圧在地坂均坊坑坪垂型垣埋城域執培基埼堀堂堅堆堕堤堪報場塀塁塊塑塔塗塚塞塡塩塾境墓増墜墨墳墾壁壇',
    '壊壌士壮声壱売変夏夕外多夜夢大天太夫央失奇奈奉奏契奔奥奨奪奮女奴好如妃妄妊妖妙妥妨妬妹妻姉始姓委姫姻姿威娘娠娯婆婚婦婿媒',
    '媛嫁嫉嫌嫡嬢子孔字存孝季孤学孫宅宇守安完宗官宙定宛宜宝実客宣室宮宰害宴宵家容宿寂寄密富寒寛寝察寡寧審寮寸寺対寿封専射将尉',
    '尊尋導小少尚就尺尻尼尽尾尿局居屈届屋展属層履屯山岐岡岩岬岳岸峠峡峰島崇崎崖崩嵐川州巡巣工左巧巨差己巻巾市布帆希帝帥師席帯',
    '帰帳常帽幅幕幣干平年幸幹幻幼幽幾庁広床序底店府度座庫庭庶康庸廃廉廊延廷建弁弄弊式弐弓弔引弟弥弦弧弱張強弾当彙形彩彫彰影役',
    '彼往征径待律後徐徒従得御復循微徳徴徹心必忌忍志忘忙応忠快念怒怖思怠急性怨怪恋恐恒恣恥恨恩恭息恵悔悟悠患悦悩悪悲悼情惑惜惧',
    '惨惰想愁愉意愚愛感慄慈態慌慎慕慢慣慨慮慰慶憂憎憤憧憩憬憲憶憾懇懐懲懸成我戒戚戦戯戴戸戻房所扇扉手才打払扱扶批承技抄把抑投',
    '抗折抜択披抱抵抹押抽担拉拍拐拒拓拘拙招拝拠拡括拭拳拶拷拾持指挑挙挟挨挫振挿捉捕捗捜捨据捻掃授掌排掘掛採探接控推措掲描提揚',
    '換握揮援揺損搬搭携搾摂摘摩摯撃撤撮撲擁操擦擬支改攻放政故敏救敗教敢散敬数整敵敷文斉斎斑斗料斜斤斥斬断新方施旅旋族旗既日旦',
    '旧旨早旬旺昆昇明易昔星映春昧昨昭是昼時晩普景晴晶暁暇暑暖暗暦暫暮暴曇曖曜曲更書曹曽替最月有服朕朗望朝期木未末本札朱朴机朽',
    '杉材村束条来杯東松板析枕林枚果枝枠枢枯架柄某染柔柱柳柵査柿栃栄栓校株核根格栽桁桃案桑桜桟梅梗梨械棄棋棒棚棟森棺椅植椎検業',
    '極楷楼楽概構様槽標模権横樹橋機欄欠次欧欲欺款歌歓止正武歩歯歳歴死殉殊残殖殴段殺殻殿毀母毎毒比毛氏民気水氷永氾汁求汎汗汚江',
    '池汰決汽沃沈沖沙没沢河沸油治沼沿況泉泊泌法泡波泣泥注泰泳洋洗洞津洪活派流浄浅浜浦浪浮浴海浸消涙涯液涼淑淡淫深混添清渇済渉',
    '渋渓減渡渦温測港湖湧湯湾湿満源準溝溶溺滅滋滑滝滞滴漁漂漆漏演漠漢漫漬漸潔潜潟潤潮潰澄激濁濃濫濯瀬火灯灰災炉炊炎炭点為烈無',
    '焦然焼煎煙照煩煮熊熟熱燃燥爆爪爵父爽片版牙牛牧物牲特犠犬犯状狂狙狩独狭猛猟猫献猶猿獄獣獲玄率玉王玩珍珠班現球理琴瑠璃璧環',
    '璽瓦瓶甘甚生産用田由甲申男町画界畏畑畔留畜畝略番異畳畿疎疑疫疲疾病症痕痘痛痢痩痴瘍療癒癖発登白百的皆皇皮皿盆益盗盛盟監盤',
    '目盲直相盾省眉看県真眠眺眼着睡督睦瞬瞭瞳矛矢知短矯石砂研砕砲破硝硫硬碁碑確磁磨礁礎示礼社祈祉祖祝神祥票祭禁禅禍福秀私秋科',
    '秒秘租秩称移程税稚種稲稼稽稿穀穂積穏穫穴究空突窃窒窓窟窮窯立竜章童端競竹笑笛符第筆等筋筒答策箇箋算管箱箸節範築篤簡簿籍籠',
    '米粉粋粒粗粘粛粧精糖糧糸系糾紀約紅紋納純紙級紛素紡索紫累細紳紹紺終組経結絞絡給統絵絶絹継続維綱網綻綿緊総緑緒線締編緩緯練',
    '緻縁縄縛縦縫縮績繁繊織繕繭繰缶罪置罰署罵罷羅羊美羞群羨義羽翁翌習翻翼老考者耐耕耗耳聖聞聴職肉肌肖肘肝股肢肥肩肪肯育肺胃胆',
    '背胎胞胴胸能脂脅脇脈脊脚脱脳腎腐腕腫腰腸腹腺膚膜膝膨膳臆臓臣臨自臭至致臼興舌舎舗舞舟航般舶舷船艇艦良色艶芋芝芯花芳芸芽苗',
    '苛若苦英茂茎茨茶草荒荘荷菊菌菓菜華萎落葉著葛葬蒸蓄蓋蔑蔵蔽薄薦薪薫薬藍藤藩藻虎虐虚虜虞虫虹蚊蚕蛇蛍蛮蜂蜜融血衆行術街衛衝',
    '衡衣表衰衷袋袖被裁裂装裏裕補裸製裾複褐褒襟襲西要覆覇見規視覚覧親観角解触言訂訃計討訓託記訟訪設許訳訴診証詐詔評詞詠詣試詩',
    '詮詰話該詳誇誉誌認誓誕誘語誠誤説読誰課調談請論諦諧諭諮諸諾謀謁謄謎謙講謝謡謹識譜警議譲護谷豆豊豚象豪貌貝貞負財貢貧貨販貪',
    '貫責貯貴買貸費貼貿賀賂賃賄資賊賓賛賜賞賠賢賦質賭購贈赤赦走赴起超越趣足距跡路跳践踊踏踪蹴躍身車軌軍軒軟転軸軽較載輝輩輪輸',
    '轄辛辞辣辱農辺込迅迎近返迫迭述迷追退送逃逆透逐逓途通逝速造連逮週進逸遂遅遇遊運遍過道達違遜遠遡遣適遭遮遵遷選遺避還那邦邪',
    '邸郊郎郡部郭郵郷都酌配酎酒酔酢酪酬酵酷酸醒醜醸采釈里重野量金釜針釣鈍鈴鉄鉛鉢鉱銀銃銅銘銭鋭鋳鋼錠錦錬錮錯録鍋鍛鍵鎌鎖鎮鏡',
    '鐘鑑長門閉開閑間関閣閥閲闇闘阜阪防阻附降限陛院陣除陥陪陰陳陵陶陸険陽隅隆隊階随隔隙際障隠隣隷隻雄雅集雇雌雑離難雨雪雰雲零',
    '雷電需震霊霜霧露青静非面革靴韓音韻響頂頃項順須預頑頒頓領頬頭頻頼題額顎顔顕願類顧風飛食飢飯飲飼飽飾餅養餌餓館首香馬駄駅駆',
    '駐駒騎騒験騰驚骨骸髄高髪鬱鬼魂魅魔魚鮮鯨鳥鳴鶏鶴鹿麓麗麦麺麻黄黒黙鼓鼻齢',
  ].join(''),
)
