/** What is written beside the code: links that lead somewhere, words that finish what they begin, gaps with a test. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type File, finding, type Finding, matches, root } from './source.ts'

/** Written in halves, so that this file does not hold what it looks for. In capitals only where the word is a word. */
const unfinished = [
  new RegExp(`\\b(?:${['TO' + 'DO', 'FIX' + 'ME', 'HA' + 'CK'].join('|')})\\b|(?://|\\*|--|#)\\s*XX` + 'X\\b', 'g'),
  new RegExp(`\\b(?:${['for n' + 'ow', 'not imple' + 'mented', 'not yet imple' + 'mented'].join('|')})\\b`, 'gi'),
]
const silenced = new RegExp(
  `(?:${['oxlint-dis' + 'able', 'eslint-dis' + 'able', '@ts-ig' + 'nore', '@ts-noch' + 'eck'].join('|')})`,
  'g',
)
/** An absolute path of a machine; the path of a URL (`/v1/work/...`) is none. */
const machinePath = new RegExp(
  `(?<![\\w.}/-])(?:/(?:${['ho' + 'me', 'ro' + 'ot', 'wo' + 'rk', 'Us' + 'ers'].join('|')})/\\w|[A-Z]:\\\\Users)`,
  'g',
)

export function checkWords(files: readonly File[]): readonly Finding[] {
  return files.flatMap((file) => [
    ...unfinished.flatMap((words) => matches(file, file.text, words, 'a word that leaves work unfinished')),
    ...matches(file, file.text, silenced, 'a rule is silenced'),
    ...matches(file, file.text, machinePath, 'an absolute path of a machine'),
  ])
}

const blank = (text: string): string => text.replace(/[^\n]/g, ' ')
/** Markdown without fenced blocks and code spans, as long as the original. */
const proseOf = (text: string): string =>
  text.replace(/^(```|~~~)[^\n]*\n[\s\S]*?^\1[^\n]*$/gm, blank).replace(/`[^`\n]+`/g, blank)

/** GitHub's anchor of a heading. */
const anchorOf = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

const anchorsOf = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/^#{1,6}\s+(.+)$/gm)].map((match) => anchorOf(match[1] ?? '')))

/** Made by `npm run docs`: a page links to its entry in docs/generated.md instead. */
const notCommitted = /^docs\/generated\//

/** A relative link leads to a file or folder that is committed, and an anchor to a heading. */
export function checkLinks(files: readonly File[]): readonly Finding[] {
  const byPath = new Map(files.map((file) => [file.path, file]))
  return files.flatMap((file) => {
    const links = [...proseOf(file.text).matchAll(/\]\(\s*<?([^)\s>]+)>?[^)]*\)|^\[[^\]]+\]:\s*(\S+)/gm)]
    return links.flatMap((match) => {
      const target = match[1] ?? match[2] ?? ''
      if (/^[a-z][a-z+.-]*:/i.test(target)) return []
      const [path = '', anchor] = target.split('#')
      const to = path === '' ? file.path : join(dirname(file.path), decodeURIComponent(path)).replaceAll('\\', '/')
      if (path.startsWith('/') || notCommitted.test(to) || !(byPath.has(to) || existsSync(join(root, to))))
        return [finding(file, match.index, `dead link: ${target}`)]
      const page = byPath.get(to)
      return anchor && page && !anchorsOf(page.text).has(anchor)
        ? [finding(file, match.index, `dead anchor: ${target}`)]
        : []
    })
  })
}

/** Commands that print a key or a secret, with their output in a file; and code that writes one. */
const writesKey =
  /^.*(?:(?:partner|service-account|wallet-key) (?:create|rotate)|impersonate|openssl (?:rand|gen\w+)|privateKeyPem)\b.*[^<]>\s*[^\s>|].*$|^.*\bwriteFile(?:Sync)?\(.*(?:[kK]ey|pem|[sS]ecret|[cC]redentials).*$/gm

/** A file with a key is for its owner alone: `umask 077` stands before it in its block, or the code gives mode 0600. */
export const checkKeyFiles = (files: readonly File[]): readonly Finding[] =>
  files.flatMap((file) =>
    [...file.text.matchAll(/^```[\s\S]*?^```|`[^`\n]+`/gm)].flatMap((block) =>
      [...block[0].matchAll(writesKey)]
        .filter(
          ({ 0: line, index }) =>
            !line.includes('0o600') && !block[0].slice(0, index + line.length).includes('umask 077'),
        )
        .map(({ index }) =>
          finding(file, block.index + index, 'a file with a key that others can read: umask 077, or mode 0o600'),
        ),
    ),
  )

export const countLinks = (files: readonly File[]): number =>
  files.reduce((sum, { text }) => sum + (proseOf(text).match(/\]\(/g)?.length ?? 0), 0)

export type Gap = { readonly where: string; readonly test: string; readonly at: number; readonly cells: number }

/** The rows of the tables of docs/gaps.md: gap, choice, why, where, test. */
export function readGaps({ text }: File): readonly Gap[] {
  const rows = [...text.matchAll(/^\|(.+)\|$/gm)].filter(([, row = '']) => !/^[\s|:-]+$/.test(row))
  return rows
    .map((match) => {
      const cells = (match[1] ?? '').split(/(?<!\\)\|/).map((cell) => cell.trim())
      const plain = (cell = '') => cell.replaceAll('`', '')
      return { where: plain(cells[3]), test: plain(cells.at(-1)), at: match.index, cells: cells.length }
    })
    .filter(({ test }) => test !== 'test')
}

/** Every choice is held by a test that is there; `-` stands where there is none, and those are counted. */
export function checkGaps(file: File): readonly Finding[] {
  return readGaps(file).flatMap(({ where, test, at, cells }) => {
    if (cells !== 5) return [finding(file, at, 'a row is: gap, our choice, why, where, test')]
    if (!existsSync(join(root, where))) return [finding(file, at, `there is no ${where}`)]
    if (test === '-') return []
    if (!/^[\w./-]+\.test\.ts$/.test(test)) return [finding(file, at, `no test file is named: ${test}`)]
    return !existsSync(join(root, test)) ? [finding(file, at, `there is no ${test}`)] : []
  })
}
