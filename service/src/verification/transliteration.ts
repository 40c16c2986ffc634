/** Writes a name in the letters a to z, in each usual way. Latin, Greek and Cyrillic letters; others are left out. */

/** Letters that are not a Latin letter with a mark. Cyrillic as in passports (ICAO 9303), Greek as ELOT 743. */
const letters: Readonly<Record<string, string>> = {
  ...{ ß: 'ss', æ: 'ae', œ: 'oe', ø: 'o', đ: 'd', ð: 'd', þ: 'th', ł: 'l', ı: 'i', ħ: 'h', ŋ: 'n' },
  ...{ а: 'a', б: 'b', в: 'v', г: 'g', д: 'd', е: 'e', ж: 'zh', з: 'z', и: 'i', к: 'k', л: 'l', м: 'm', н: 'n' },
  ...{ о: 'o', п: 'p', р: 'r', с: 's', т: 't', у: 'u', ф: 'f', х: 'kh', ц: 'ts', ч: 'ch', ш: 'sh', щ: 'shch' },
  ...{ ъ: 'ie', ы: 'y', ь: '', э: 'e', ю: 'iu', я: 'ia', і: 'i', є: 'ie', ґ: 'g', ђ: 'd', ј: 'j', љ: 'lj', њ: 'nj' },
  ...{ α: 'a', β: 'v', γ: 'g', δ: 'd', ε: 'e', ζ: 'z', η: 'i', θ: 'th', ι: 'i', κ: 'k', λ: 'l', μ: 'm', ν: 'n' },
  ...{ ξ: 'x', ο: 'o', π: 'p', ρ: 'r', σ: 's', ς: 's', τ: 't', υ: 'y', φ: 'f', χ: 'ch', ψ: 'ps', ω: 'o' },
}

/** Letters with a mark for which German, Danish, Norwegian and Swedish also write a second letter. */
const doubled: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', å: 'aa', ø: 'oe' }

/** Returns one text, or two if the name has letters that are written in two ways. In lower case. */
export function transliterate(name: string): readonly string[] {
  const text = name.normalize('NFC').toLowerCase()
  const second = text.replace(/[äöüåø]/g, (letter) => doubled[letter] ?? letter)
  return [...new Set([plain(text), plain(second)])]
}

const plain = (text: string): string =>
  text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/\p{L}/gu, (letter) => letters[letter] ?? letter)
