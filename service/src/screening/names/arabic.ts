/**
 * Names in Arabic letters: their words, the ways to write compounds (`سيف الله`, Saifullah), and the likeness of Latin
 * spellings.
 */
const arabicWord = /\p{Script=Arabic}+/gu
const signs = /[\p{M}\u0640]/gu

/** Maps letters with several forms in Arabic, Persian and Urdu to one form. */
const oneForm: Readonly<Record<string, string>> = {
  ...{ أ: 'ا', إ: 'ا', آ: 'ا', ٱ: 'ا', ک: 'ك', ی: 'ي', ے: 'ي', ہ: 'ه', ھ: 'ه', ۀ: 'ه', ۃ: 'ة', ڭ: 'ك', ګ: 'گ' },
  ...{ ړ: 'ر', ڑ: 'ر', ډ: 'د', ڈ: 'د', ټ: 'ت', ٹ: 'ت', ښ: 'ش', ځ: 'ز', څ: 'س', ڼ: 'ن', ں: 'ن', ې: 'ي', ۍ: 'ي' },
}

/** The words for "son of" and "father of", which names often omit. */
const kin = new Set('بن ابن بنت ابو ابي ابا ام اغ'.split(' '))
/** Titles, some of which are also given names. */
const titles = new Set('ال ملا شيخ الشيخ حاج الحاج حاجي حجي سيد السيد مولوي الدكتور دكتور و'.split(' '))
/** Words that are often joined with the previous word. */
const endings = new Set('الله الدين الرحمن الرحمان زاده خيل جان'.split(' '))
const initials: Readonly<Record<string, string>> = Object.fromEntries(
  Array.from('ابتجحدرزسشطعفقكلمنهوي', (letter, at) => [letter, 'abtjhdrzsstafqklmnhwy'[at] ?? '']),
)

export const isArabic = (text: string): boolean => /\p{Script=Arabic}/u.test(text)

/** Writes Arabic words with one form of each letter, and other words in ASCII by `ascii`. */
export function plainArabic(text: string, ascii: (text: string) => string): string {
  const plain = text.normalize('NFKC').replace(signs, '')
  const parts: string[] = []
  let end = 0
  for (const { 0: word, index } of plain.matchAll(arabicWord)) {
    const letters = Array.from(word, (letter) => oneForm[letter] ?? letter).join('')
    parts.push(ascii(plain.slice(end, index)), ...takenApart(initials[letters] ?? letters))
    end = index + word.length
  }
  return [...parts, ascii(plain.slice(end))].join(' ')
}

/** Splits a compound that is written as one word into its parts. */
function takenApart(word: string): readonly string[] {
  const [, first = '', second = ''] =
    /^(عبد)(ال.{2,})$/u.exec(word) ?? /^(ابو)(.{3,})$/u.exec(word) ?? /^(.{2,})(الله|الدين)$/u.exec(word) ?? []
  return first === '' ? [word] : [first, second]
}

const withSign = (word: string): string => (word === 'الله' ? godSign : word.replace(/^ال(?=.{2})/u, articleSign))

const sons = new Set('بن ابن بنت اغ'.split(' '))
/** Reports whether two words are probably parts of one, because one of them is short. */
const isSplit = (word: string, next: string): boolean =>
  Math.min(word.length, next.length) <= 2 && !kin.has(word) && !kin.has(next) && next !== ''

const formsMax = 8

/** Lists the forms of a name in Arabic letters: each compound split and joined, and each title included and left out. */
export function arabicForms(all: readonly string[]): readonly (readonly string[])[] {
  let forms: readonly (readonly string[])[] = [[]]
  /** Adds the first of these ways to each form, and the others as long as there are at most formsMax forms. */
  const add = (...ways: readonly (readonly string[])[]) => {
    const kept = forms.length * ways.length > formsMax ? ways.slice(0, 1) : ways
    forms = kept.flatMap((way) => forms.map((form) => [...form, ...way.map(withSign)]))
  }
  for (let at = 0; at < all.length; at += 1) {
    const [word = '', next = ''] = [all[at], all[at + 1]]
    const isFather = kin.has(word) && !sons.has(word)
    const hasArticle = (word === 'عبد' || word === 'بن') && next.startsWith('ال')
    const isCompound = isFather || hasArticle || endings.has(next) || isSplit(word, next)
    if (next !== '' && isCompound) {
      add(
        [word, next].filter((part) => !kin.has(part)),
        [word + withSign(next)],
      )
      at += 1
    } else if (titles.has(word)) add([], [word])
    else if (!kin.has(word)) add([word])
  }
  const telling = forms.filter((form) => form.length > 0)
  return telling.length > 0 ? telling : [all.map(withSign)]
}

/**
 * How likely a Latin word is the spelling of a word in Arabic letters. Arabic writes long vowels but not short ones, and
 * romanisations write a letter in several ways, depending on its place. The cheapest reading of the Latin word counts.
 */

/** Replaces the two letters of the article in an Arabic word, because Latin spellings often omit or assimilate it. */
export const articleSign = 'ٱ'
/** Replaces the word for God, the second part of many names. */
const godSign = 'ﷲ'

type Spellings = readonly (readonly [latin: string, cost: number])[]

/** Parses spellings: in `b p.3`, `b` is free and `p` costs 0.3 of an edit. */
const spellings = (text: string): Spellings =>
  text.split(' ').map((each) => {
    const [, latin = '', cost = '0'] = /^([a-z-]+)(\.\d+|1)?$/.exec(each) ?? []
    return [latin === '-' ? '' : latin, Number(cost)]
  })

const table = (lines: Readonly<Record<string, string>>): ReadonlyMap<string, Spellings> =>
  new Map(Object.entries(lines).map(([letter, text]) => [letter, spellings(text)]))

const anywhere = table({
  [articleSign]: '- al el ul il ol l a.1 e.1 u.1 i.1',
  [godSign]: 'allah ullah ellah illah ollah llah alla ulla alah ulah oullah aullah',
  ...{ ا: 'a aa e.1 -.6 ia.5', ع: '- a aa', ء: '- a', ئ: '- i y e', ؤ: '- o u w ou' },
  ...{ ب: 'b p.3', پ: 'p b.2', ت: 't', ث: 'th s.1 t.1', ج: 'j g dj dg ch.5 gh.5 dzh y.8', چ: 'ch tch c.2 j.4 sh.4' },
  ...{ ح: 'h -.5 kh.6 ch.6', خ: 'kh k.2 ch.2 h.3 x gh.6', د: 'd', ذ: 'dh d th.1 z.1', ر: 'r', ز: 'z s.4' },
  ...{ ژ: 'zh j', س: 's c.1', ش: 'sh ch sch s.5', ص: 's', ض: 'd dh z.2 th.3', ط: 't', ظ: 'z dh d.1 th.1' },
  ...{ غ: 'gh g.1 r.5 k.6 q.4', ف: 'f ph v.4', ق: 'q k g.1 gh.3 c.1 kh.5', ك: 'k c q.2 ck kh.5 g.3', گ: 'g gh' },
  ...{ ل: 'l', م: 'm', ن: 'n', ه: 'h -.5', و: 'u o ou oo w v au aw ow ew uw uu eu -1' },
  ...{ ي: 'i y ee ei ai ay ey e iy ie ij -.8', ى: 'a i y', ة: 'a ah at e eh et t h' },
})
const first = table({
  ا: 'a e i o u aa -.8',
  ع: 'a e i o u aa ou -.2',
  ي: 'y i e.3 j ye yi',
  و: 'w v ou o u',
})
const last = table({
  ا: 'a aa ah e.2 ae -.8',
  ي: 'i y yi ee ey ie a.2 e.2 ia.3 iy -.8',
  ه: 'h a ah eh e ha -.5',
  و: 'u o ou oo w v ow -1',
  ع: '- a aa ei.3 e.2',
})

const isVowel = (letter: string | undefined): boolean => letter !== undefined && 'aeiou'.includes(letter)

/** Returns the cost of a Latin letter that no Arabic one stands for. */
function extraCost(latin: string, at: number, isBegun: boolean): number {
  const [letter = '', before] = [latin[at], latin[at - 1]]
  const isLast = at === latin.length - 1
  if (letter === before) return isVowel(letter) ? 0.2 : 0
  if (isVowel(letter)) {
    if (!isBegun) return 0.6
    if (isLast) return letter === 'e' ? 0.1 : 0.7
    return isVowel(before) ? 0.3 : 0
  }
  if (letter === 'h') return isLast && isVowel(before) ? 0 : 0.6
  return letter === 'y' ? 0.5 : 1
}

/**
 * Computes the cost, in edits, of the cheapest reading of a Latin word as this Arabic word; Infinity beyond `costMax`.
 */
export function spellingCost(arabic: string, latin: string, costMax: number): number {
  const letters = Array.from(arabic)
  let costs: number[] = Array.from({ length: latin.length + 1 }, () => Infinity)
  costs[0] = 0
  for (let row = 0; row <= letters.length; row += 1) {
    for (let at = 0; at < latin.length; at += 1) {
      const cost = (costs[at] ?? Infinity) + extraCost(latin, at, row > 0)
      if (cost < (costs[at + 1] ?? Infinity)) costs[at + 1] = cost
    }
    const letter = letters[row]
    if (letter === undefined) break
    const isFirst = row === 0 || (row === 1 && letters[0] === articleSign)
    const ways =
      (isFirst ? first.get(letter) : undefined) ??
      (row === letters.length - 1 ? last.get(letter) : undefined) ??
      anywhere.get(letter) ??
      []
    const next: number[] = Array.from({ length: latin.length + 1 }, () => Infinity)
    for (let at = 0; at <= latin.length; at += 1) {
      const cost = costs[at] ?? Infinity
      if (cost > costMax) continue
      const reach = (to: number, total: number) => {
        if (to <= latin.length && total < (next[to] ?? Infinity)) next[to] = total
      }
      reach(at, cost + 1)
      reach(at + 1, cost + 1)
      for (const [spelling, each] of ways) if (latin.startsWith(spelling, at)) reach(at + spelling.length, cost + each)
    }
    costs = next
  }
  const cost = costs[latin.length] ?? Infinity
  return cost > costMax ? Infinity : cost
}

const classOf: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    b: 'بپ',
    t: 'تطثدذضظز',
    k: 'جخقكگغژ',
    r: 'ر',
    s: 'سصشچ',
    f: 'ف',
    l: 'ل',
    m: 'م',
    n: 'ن',
  }).flatMap(([sound, all]) => Array.from(all, (letter) => [letter, sound] as const)),
)

/** Rules in the order of their application. */
const latinClasses: readonly (readonly [pattern: RegExp, sound: string])[] = [
  [/sch|tch|sh|c(?=[eiy])/g, 's'],
  [/dzh|dj|dg|zh|[kgc]h|[cgjkq]/g, 'k'],
  [/x/g, 'ks'],
  [/[td]h|[tdz]/g, 't'],
  [/ph/g, 'f'],
  [/p/g, 'b'],
  [/[^bfklmnrst]/g, ''],
  [/(.)\1+/g, '$1'],
]

/** Letter pairs that stand for one sound or two, or for one of two sounds. */
const ambiguous: readonly (readonly [letters: string, others: string])[] = [
  ['ch', 'sh'],
  ['zh', 'z'],
]

/** Lists the consonants of a Latin word, as classes of letters that romanisations interchange. */
export function latinSkeletons(word: string): readonly string[] {
  const of = (text: string) => latinClasses.reduce((left, [pattern, sound]) => left.replace(pattern, sound), text)
  const others = ambiguous.filter(([letters]) => word.includes(letters))
  return [...new Set([word, ...others.map(([letters, other]) => word.replaceAll(letters, other))].map(of))]
}

/** `Abd` with the article of the next word: Abdul, Abdur. */
const servantSkeletons = ['bt', 'btl', 'btr', 'bts', 'btn']

const several: Readonly<Record<string, readonly string[]>> = {
  [articleSign]: ['', 'l'],
  [godSign]: ['l'],
  ث: ['t', 's'],
}

/** Lists the consonants of an Arabic word, with and without the article, and with either class of ambiguous letters. */
export function arabicSkeletons(word: string): readonly string[] {
  if (word === 'عبد') return servantSkeletons
  let skeletons = ['']
  for (const letter of word) {
    const sound = classOf[letter] ?? ''
    const sounds = several[letter] ?? [sound]
    skeletons = sounds.flatMap((each) => skeletons.map((skeleton) => skeleton + each))
  }
  return [...new Set(skeletons.map((skeleton) => skeleton.replace(/(.)\1+/g, '$1')))]
}
