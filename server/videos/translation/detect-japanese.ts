/** What ends a line of a prompt. */
export const LINE_END = /\r\n|[\n\r\u2028\u2029]/u

/**
 * Whether text is Japanese and so has to be translated: one Japanese sentence is enough. With kana a sentence is Japanese when kana and
 * kanji are at least 30 % of its letters, so a name or a sign does not make English Japanese; kanji alone, at least half of the letters,
 * needs a form that only Japan writes. Neither holds with a form that only simplified Chinese writes. Pass it the text without dialogue
 * and quotations.
 * Source: docs/engines.md, translation.
 */
export function isJapanese(text: string): boolean {
  return sentencesOf(text).some(isJapaneseSentence)
}

export function sentencesOf(text: string): string[] {
  return text.split(/[\n\r\u2028\u2029。．.！!？?]+/u).filter((sentence) => /\p{Letter}/u.test(sentence))
}

/** Whether the text contains kana, full or half width, or kanji. */
export function hasJapanese(text: string): boolean {
  return JAPANESE_LETTER.test(text)
}

export function isJapaneseLetter(character: string): boolean {
  return JAPANESE_LETTER.test(character)
}

/** The number of kana and kanji in the text. */
export function countJapanese(text: string): number {
  return count(text, JAPANESE_LETTERS)
}

const KANA_SHARE_MIN = 0.3
const KANJI_SHARE_MIN = 0.5

const KANA = /[\p{Script=Hiragana}\p{Script=Katakana}]/u

/** Kana with the marks of length and voice that Unicode counts to no script, and kanji with 〆. */
const JAPANESE_LETTER = /[[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}ーｰﾞﾟ〆]&&\p{Letter}]/v
const JAPANESE_LETTERS = new RegExp(JAPANESE_LETTER, 'gv')

function isJapaneseSentence(sentence: string): boolean {
  const letters = count(sentence, /\p{Letter}/gu)
  const share = countJapanese(sentence) / letters
  const characters = [...sentence]
  if (characters.some((character) => SIMPLIFIED_FORMS.has(character))) return false
  if (KANA.test(sentence)) return share >= KANA_SHARE_MIN
  return share >= KANJI_SHARE_MIN && characters.some((character) => JAPANESE_FORMS.has(character))
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}

/**
 * Forms that Japan writes and China does not: the shinjitai and kokuji of JIS X 0208 level 1 that are neither in GB 2312 nor in Big5,
 * without variants that Chinese text has all the same (峯 疎 遡 焔 呑 兎), more kokuji of level 2, and the marks 々 and 〆.
 */
export const JAPANESE_FORMS: ReadonlySet<string> = setOf(
  '亜唖穐悪鯵圧鮎囲壱稲鰯隠欝営栄頴鋭駅閲円縁艶薗塩汚応鴬鴎穏仮価菓壊廻懐絵鈎拡撹殻覚楽樫梶渇椛竃噛栢苅勧巻寛歓潅観',
  '諌関陥舘巌贋顔帰気亀戯犠拠挙郷尭暁倶駆駈喰粂勲薫啓恵掲渓経継繋蛍軽頚鶏撃倹剣圏検権県険顕験鹸厳戸袴呉娯効広鉱砿麹',
  '黒狛込査歳済砕斎剤冴堺榊咲桜笹雑皐桟産讃賛姉歯児鴫宍雫実舎釈呪収繍衆讐従渋獣縦粛処奨渉焼醤乗剰壌嬢浄畳穣譲醸靭図',
  '粋酔髄椙瀬斉摂説絶専戦繊賎銭糎曽惣捜挿掻巣痩窓総聡荘騒増臓蔵続楕駄騨対帯滝択沢凧竪単団弾値遅鋳庁徴聴勅栂辻壷逓鉄',
  '転妬嶋梼闘働峠徳涜読栃瀞凪縄弐匂韮廼嚢悩脳覇廃拝楳売蝿硲畑畠鉢溌発醗髪抜噺晩樋姫氷鋲冨払仏塀箆変辺舗歩穂頬毎柾桝',
  '侭麿満麺黙杢戻籾匁薬訳鑓揺様謡頼覧竜両猟緑隣瑠塁涙隷霊齢暦歴錬労篭蝋録脇枠鰐椀凩俤躾裃襷縅糀杣鯱鰰鱚鯑鯒辷颪梺垳',
  '圷嬶鶫鵆鮖鮗鯏鯲鱇錻鎹閊硴聢艝萢蓙蛯蟐袰裄褄軈轌迚逧遖饂鞆鞐熕燵毟圦囎簗籏椚椢栞々〆',
)

/** Forms that only simplified Chinese writes: what GB 2312 has and neither JIS X 0208 nor Big5. No jōyō kanji is among them. */
export const SIMPLIFIED_FORMS: ReadonlySet<string> = setOf(
  '皑蔼爱袄坝罢摆败颁办绊帮绑镑谤饱报鲍辈贝钡狈备惫绷笔毕毙币闭边编贬变辩辫标鳖别瘪濒滨宾摈饼拨钵铂驳补财惭灿苍舱仓',
  '沧厕侧测层诧搀掺馋谗缠铲产阐颤场尝长偿肠畅钞车彻尘陈衬撑惩诚骋迟驰齿炽宠踌筹绸橱锄雏础储处传疮闯创锤纯绰词赐聪囱',
  '丛凑蹿窜错达带贷单郸掸惮诞弹挡荡捣岛导邓敌涤递缔颠垫电钓调谍叠钉顶锭订丢东动栋冻犊读赌镀锻缎兑队对顿钝夺鹅额讹恶',
  '饿尔饵贰发罚阀珐矾钒烦贩饭访纺飞诽废费纷坟奋愤粪枫锋风疯冯缝讽凤肤辐抚辅赋负讣妇缚该钙秆赣冈刚钢纲岗镐搁鸽阁铬给',
  '龚宫巩贡钩沟购够蛊顾剐关观馆惯贯规归龟闺轨诡贵刽辊滚锅过骇韩汉阂鹤贺轰鸿红壶护沪户哗华话欢环还缓换唤痪焕涣谎挥辉',
  '毁贿秽烩汇讳诲绘荤浑获货祸击积饥讥鸡绩缉辑级挤蓟剂济计记际继纪夹荚颊贾钾驾歼监坚笺间艰缄检碱硷拣捡简俭减槛鉴贱见',
  '键舰剑饯渐溅涧浆桨奖讲酱胶浇骄娇搅铰矫侥饺缴绞轿较阶节结诫紧锦仅谨进烬劲荆鲸经颈镜痉竞净纠驹举锯剧鹃绢觉诀绝钧军',
  '骏开凯颗壳课垦恳抠库裤块侩宽矿旷亏岿窥馈溃扩阔赖蓝栏拦篮阑兰澜谰揽览懒缆烂滥捞劳涝乐镭垒类鲤丽厉砾历傈沥俩联莲连',
  '镰涟敛脸链炼练两辆谅疗辽镣猎临邻鳞赁龄铃灵领馏刘龙聋咙笼垄拢陇娄搂篓卢颅庐掳卤虏鲁赂录陆驴吕铝侣缕虑滤绿峦挛孪滦',
  '抡轮伦仑沦纶论萝罗逻锣箩骡骆络妈玛码蚂马骂吗买卖迈瞒馒满谩锚铆贸酶镁门闷们锰谜觅幂绵缅庙灭悯闽鸣铭谬谋亩呐钠纳难',
  '挠脑恼闹馁拟腻撵酿鸟聂啮镊镍柠狞拧钮纽脓浓农疟诺鸥呕沤盘庞赔喷鹏骗飘频贫评泼颇铺谱脐齐骑岂启讫牵钎铅迁签谦钱钳谴',
  '堑枪呛墙蔷强抢锹桥乔侨翘窍钦亲轻氢倾顷请庆琼穷趋驱龋颧权劝鹊让饶绕热韧认纫荣绒软锐闰润萨鳃赛叁伞丧骚扫涩杀纱筛删',
  '闪陕赡缮墒伤赏烧绍赊摄慑设绅审婶肾渗绳师狮诗时蚀实识驶势释饰视试兽输书赎术树竖帅谁顺说硕烁丝饲耸怂颂讼诵擞苏诉肃',
  '虽绥岁孙损缩琐锁獭挞酞态摊贪瘫滩坛谭谈叹汤烫绦讨腾誊锑题屉贴铁厅烃铜统头秃图团颓蜕鸵驮驼椭袜顽韦违围为潍维苇伟伪',
  '纬谓卫闻纹稳问挝蜗涡窝卧呜钨乌诬芜吴坞雾务误锡牺袭习铣戏细虾辖吓锨鲜纤贤衔闲显险现县馅宪线厢镶乡详响项萧嚣销晓啸',
  '协胁谐泻谢锌衅兴汹锈绣须许绪续轩悬选癣绚勋询寻驯训讯逊压鸦鸭哑亚讶阉盐严颜阎艳厌砚谚验鸯杨扬疡阳养样摇尧窑谣药爷',
  '页业铱颐遗仪蚁艺亿忆义诣议谊译绎荫阴银饮隐樱婴鹰应缨莹萤营荧蝇赢颖哟拥痈忧邮铀诱舆鱼渔娱屿语狱预驭鸳辕园员圆缘远',
  '约跃钥阅郧匀陨运蕴酝晕杂灾载攒暂赞赃脏凿枣责择则泽贼赠轧铡闸栅诈斋债毡盏斩辗崭栈战绽张涨帐账胀赵蛰辙锗这贞针侦诊',
  '镇阵挣睁狰帧郑证织职执纸挚掷帜质钟终肿众诌轴皱骤诸诛烛瞩贮铸驻专砖转赚桩妆锥赘坠缀谆浊兹资渍综总纵邹诅组钻鼗芈啬',
  '厍厣靥赝匦匮赜刭刿剀劐仫伛伥伧伫伲侪侬俦俨俪倮偾偻傥傧傩氽佥籴黉冁凫兖衮亵脔凇讦讧讪讴讵讷诂诃诋诏诎诒诓诔诖诘诙',
  '诜诟诠诤诨诩诮诰诳诶诹诼诿谀谂谄谇谌谏谑谒谔谕谖谙谛谘谝谟谠谡谥谧谪谫谮谯谲谳谵谶卺陉陧邝邬邺郏郐郄郓郦刍奂劢勐',
  '凼巯垩垡圹坜垅垆垭垲垧垴埘埚埙埯埝塄塬墚芗苈苊苋苌苁芪苄苎苷茏苘茑茚茔茕荛荜荞荟荠荦荥荨荩荬荪荭荮莳莴莜莶莸莺莼',
  '萘萜萦葜蒇蒈蒉蒌蓦蒽蓠蓥蓣蔸蔹蔺蕲藓奁尴扪抟挢掼揸揿揞摅撄撷撸撺擀甙卟叽吖呋呒呓呖吡呗呙吣吲咔咛咝哐咴哒哓哔咣哕',
  '哌哙哚哜哝唛唠唢唣啧啉啭唿喹喽喾嗪嗫嗬嗳嗵辔嘞嘤嘣嘭噍噜噔噻噼嚯囵帏帱帻帼幞岖岘岙岚岜岽峁峄峤峥崂崃嵘崾嵛嵝嵴巅',
  '徕犷犸狍狯狲猃猡猕猹猬猸饧饨饩饪饫饬饴饷饽馀馄馇馊馍馐馑馓馔馕庑赓廪怃怄忾怅怆怿恸恹恻恺恽悭惬愠愦憷懔闩闫闱闳闵',
  '闶闼闾阃阄阆阈阊阋阌阍阏阒阕阖阗阙阚沣沩泷泸沲泺泾浃浈浍浏浒浔涞涠渎渑渖渌溆滟滠滢溻滗潆潇漤潋濑灏骞迳逦屦弪妩妪',
  '妫姗娅娆娈姹娲娴婵胬媪嫒嫔嫱嬷尜驵驷驸驺驿驽骀骁骅骈骊骐骒骓骖骘骛骜骝骟骠骢骣骥骧纡纣纥纨纩纭纰纾绀绁绂绉绋绌绐',
  '绔绗绛绠绡绨绫绮绯绱绲缍绶绺绻绾缁缂缃缇缈缋缌缏缑缒缗缙缜缛缟缡缢缣缤缥缦缧缪缫缬缭缯缰缱缲缳缵玑玮珏珑珉顼玺珲',
  '琏瑷璎瓒韪韫韬杩枥枧枨枞枭栉栊栌栀栎柽桠桡桢桤桕桦栾桊棂椟椠椤榄榀榘榇榈榉槟槠樯橥橹橼檩檫殁殇殒殓殚殡轫轭轱轲轳',
  '轵轶轸轷轹轺轼轾辁辂辄辇辋辍辎辏辘辚軎戋戗戬瓯昙晔晖晗暧贲贳贶贻贽赀赅赆赈赉赇赍赕赙觇觊觋觌觎觏觐觑犟牦犏毪毵氇',
  '氩氲敫牍肟肼肽肷胧胨胩胪胫脍脎脒脶脲腈腙腚腼腽腭膑膪臁欤飑飒飓飕飙飚毂齑斓炀炜炝炻烀烨焖煳煅煊煺熘焘祯怼悫懑戆肀',
  '泶矶砀砗砘砜砹砻砼硖硗硇碛碜碹磙礴龛眍睐睑睃畲疃罴罱羁钆钇钋钊钌钍钏钐钔钗钕钚钛钜钣钤钫钪钭钬钯钰钲钴钶钷钸钹钺',
  '钼钽钿铄铈铉铊铋铌铍铎铐铑铒铕铖铗铙铘铛铞铟铠铢铤铥铧铨铪铩铫铮铯铳铴铵铷铹铼铽铿锃锂锆锇锉锊锍锎锏锒锓锔锕锖锘',
  '锛锝锞锟锢锪锫锩锬锱锲锴锶锷锸锼锾锿镂锵镄镅镆镉镌镎镏镒镓镔镖镗镘镙镛镞镟镝镡镢镤镥镦镧镨镩镪镫镬镯镱镲镳锺稆穑',
  '鸠鸢鸨鸩鸪鸫鸬鸲鸱鸶鸸鸷鸹鸺鸾鹁鹂鹄鹆鹇鹈鹉鹋鹌鹎鹑鹕鹗鹚鹛鹜鹞鹣鹦鹧鹨鹩鹪鹫鹬鹱鹭鹳疖疠疬疴痖痨痫瘅瘗瘘癀瘿瘾',
  '癍癞癔癫癯窦窭裆裢裣裥褛褴皲耠耢耥耧耱聍聩顸颀颃颉颌颍颏颔颚颛颞颟颡颢颥颦虬虿蚬蛏蛱蛲蛳蛴蝈蝽蝾蝰螋蝼螨蟮罂笃笕',
  '笾筚筻筢箦箧箨箢箫篑篼簖籁舣舭舻舾袅羟籼粝粜糁糇糍絷趱酰酽酾醌鹾趸跄跞跷跸跹跻踬踯踺蹑蹒蹰躏躜觞觯靓雳霁霭龀龃龅',
  '龆龇龈龉龊龌黾鼋鼍隽雠銮錾鐾鱿鲂鲅鲆鲇鲈稣鲋鲎鲐鲑鲒鲔鲕鲚鲛鲞鲟鲠鲡鲢鲣鲥鲦鲧鲨鲩鲫鲭鲮鲰鲱鲲鲳鲴鲵鲶鲷鲺鲻鲼鲽',
  '鳄鳅鳆鳇鳊鳋鳌鳍鳎鳏鳐鳓鳔鳕鳗鳘鳙鳜鳝鳟鳢鞑鞒鞯鞲鹘骶骺髅髋髌魇魉飨餍鬏鬓黢黩黪鼹齄',
)

function setOf(...lines: string[]): ReadonlySet<string> {
  return new Set(lines.join(''))
}
