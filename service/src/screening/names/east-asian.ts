/**
 * Latin spellings of names in Chinese and Korean characters. `any-ascii` returns the Mandarin reading of a Chinese character and the
 * Revised Romanisation of a Korean one. Lists also use Wade-Giles, McCune-Reischauer and customary spellings.
 */
import anyAscii from 'any-ascii'

/** Each character of these scripts is a word, or a syllable that is written as a word. */
const syllabic = /[\p{Script=Han}\p{Script=Hangul}]/gu
export const hasSyllabicScript = (text: string): boolean => text.search(syllabic) >= 0
const han = /\p{Script=Han}/u
const hangul = /\p{Script=Hangul}/u

/** Surnames whose reading differs from the usual reading of the character. */
const surnames: Readonly<Record<string, string>> = {
  ...{
    曾: 'Zeng',
    單: 'Shan',
    单: 'Shan',
    解: 'Xie',
    查: 'Zha',
    仇: 'Qiu',
    朴: 'Piao',
    區: 'Ou',
    区: 'Ou',
    葉: 'Ye',
    叶: 'Ye',
  },
  ...{
    盖: 'Ge',
    覃: 'Qin',
    尉: 'Yu',
    長: 'Chang',
    长: 'Chang',
    翟: 'Zhai',
    乐: 'Yue',
    樂: 'Yue',
    缪: 'Miao',
    繆: 'Miao',
  },
}

/** Chinese characters in Korean names, with their Korean syllable in the spelling of North Korea. */
const koreanSigns: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    ...{ Kim: '金', Ri: '李理', Pak: '朴', Choe: '崔', Jong: '鄭正郑', Kang: '姜康强', Jo: '趙赵', Yun: '尹允' },
    ...{ Jang: '張长張张', Rim: '林', Han: '韓韩漢', O: '吳吴', So: '徐', Sin: '申信', Kwon: '權权', Hwang: '黃黄' },
    ...{
      An: '安',
      Song: '宋成星聖',
      Jon: '全',
      Hong: '洪',
      Un: '恩銀',
      Il: '日一',
      Yong: '英永榮龍龙勇',
      Ho: '浩鎬虎',
    },
    ...{
      Chol: '哲鐵铁',
      Nam: '南男',
      Su: '秀洙',
      Hyok: '赫',
      Sok: '錫石',
      Hak: '學鶴学',
      Myong: '明命',
      Kwang: '光廣',
    },
    ...{ Guk: '國国', Chun: '春', Hui: '熙姬', Yo: '與与', Hae: '海', Sang: '相尚', Thae: '泰太', Won: '元源' },
  }).flatMap(([syllable, signs]) => Array.from(signs, (sign) => [sign, syllable] as const)),
)

type Rules = readonly (readonly [pattern: RegExp, spelling: string])[]

/** Converts Pinyin to Wade-Giles, without apostrophes. The first rule that fits a syllable applies. */
const wadeGiles: Rules = [
  [/^zh(?=i$)|^ch(?=i$)/, 'chih'],
  [/^zh|^j|^q/, 'ch'],
  [/^x/, 'hs'],
  [/^z|^c(?!h)/, 'ts'],
  [/^b/, 'p'],
  [/^d/, 't'],
  [/^g/, 'k'],
  [/^r/, 'j'],
]
/** Convert Revised Romanisation to the spelling of North Korea, which lists use, and to customary spellings of the South. */
const northern: Rules = [
  [/^g/, 'k'],
  [/^d/, 't'],
  [/^b/, 'p'],
  [/(?<!n)g$/, 'k'],
  [/^l/, 'r'],
  [/eo/, 'o'],
  [/eu/, 'u'],
  [/^si$/, 'shi'],
]
const southern: Rules = [
  [/eo/, 'u'],
  [/eu/, 'u'],
  [/oo|u$/, 'oo'],
]
const northernSurnames: Readonly<Record<string, string>> = { 이: 'Ri', 박: 'Pak', 임: 'Rim', 유: 'Ryu', 노: 'Ro' }
const southernSurnames: Readonly<Record<string, string>> = {
  ...{ 이: 'Lee', 리: 'Lee', 박: 'Park', 김: 'Kim', 최: 'Choi', 정: 'Jung', 조: 'Cho', 강: 'Kang', 신: 'Shin' },
  ...{ 유: 'Yoo', 윤: 'Yoon', 우: 'Woo', 주: 'Joo', 문: 'Moon', 노: 'Roh', 임: 'Lim', 오: 'Oh', 장: 'Jang' },
}

const spelled = (syllable: string, rules: Rules): string =>
  rules.reduce((text, [pattern, spelling]) => text.replace(pattern, spelling), syllable)

const readWith =
  (firsts: Readonly<Record<string, string>>, rules: Rules) =>
  (sign: string, isFirst: boolean): string =>
    (isFirst ? firsts[sign] : undefined) ?? spelled(anyAscii(sign).toLowerCase(), rules)

type Reading = (sign: string, isFirst: boolean) => string

/** Lists the ways to write the characters of a name in Latin letters, the usual one first. Without such characters: the text itself. */
export function latinReadings(text: string): readonly string[] {
  const signs = text.match(syllabic) ?? []
  if (signs.length === 0) return [text]
  const readings: Reading[] = []
  if (signs.some((sign) => han.test(sign))) {
    readings.push(readWith(surnames, []), readWith(surnames, wadeGiles))
    if (signs.every((sign) => sign in koreanSigns)) readings.push((sign) => koreanSigns[sign] ?? sign)
  }
  if (signs.some((sign) => hangul.test(sign)))
    readings.push(readWith(northernSurnames, northern), readWith(southernSurnames, southern), readWith({}, []))
  return [
    ...new Set(
      readings.map((read) => {
        let count = 0
        return text.replace(syllabic, (sign) => ` ${read(sign, (count += 1) === 1)} `)
      }),
    ),
  ]
}
