/**
 * How likely a Latin word is the spelling of a word in Arabic letters. Arabic writes long vowels and no short ones, and
 * romanisations write a letter in several ways, by its place. The cheapest reading of the Latin word counts.
 */

/** Stands for the article in an Arabic word, in place of its two letters: Latin often omits or assimilates it. */
export const articleSign = 'ٱ'
/** Stands for the word for God, which is the second part of many names. */
export const godSign = 'ﷲ'

type Spellings = readonly (readonly [latin: string, cost: number])[]

/** `b p.3`: a spelling without cost, and one that costs 0.3 of an edit. */
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

/** The cost of a Latin letter that no Arabic one stands for. */
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

/** The edits that the cheapest reading of a Latin word as this Arabic one has; Infinity beyond `costMax`. */
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

/** Applies in this order. */
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

/** Two letters that stand for one sound or for two, or for one of two sounds. */
const ambiguous: readonly (readonly [letters: string, others: string])[] = [
  ['ch', 'sh'],
  ['zh', 'z'],
]

/** The consonants of a Latin word in classes of letters that romanisations exchange. */
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

/** The consonants of an Arabic word, with the article and without, and with either class of a letter that has two. */
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
