/** Noto Sans (SIL Open Font License): Latin, Greek and Cyrillic, and figures of one width, so that columns of amounts align. */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const files = {
  regular: '@expo-google-fonts/noto-sans/400Regular/NotoSans_400Regular.ttf',
  medium: '@expo-google-fonts/noto-sans/500Medium/NotoSans_500Medium.ttf',
  bold: '@expo-google-fonts/noto-sans/700Bold/NotoSans_700Bold.ttf',
} as const
export type FontName = keyof typeof files
export const fontNames = Object.keys(files) as readonly FontName[]

const loaded = new Map<FontName, Buffer>()

/** Read once, at the first document. */
export function fontBytes(name: FontName): Buffer {
  const known = loaded.get(name)
  if (known) return known
  const bytes = readFileSync(fileURLToPath(import.meta.resolve(files[name])))
  loaded.set(name, bytes)
  return bytes
}

/**
 * Replaces a character that the font lacks, which would be an empty box, by a question mark, and controls by a blank.
 */
const shown =
  /[^\u0020-\u007e\u00a0-\u024f\u0259\u02bb-\u02dd\u0370-\u03ff\u0400-\u04ff\u1e00-\u1eff\u1f00-\u1fff\u2010-\u2027\u202f-\u205e\u2070-\u209f\u20a0-\u20bf\u2212]/gu
const control = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
export const printable = (text: string): string =>
  text.toWellFormed().normalize('NFC').replace(control, ' ').replace(shown, '?')
