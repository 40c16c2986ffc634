/** Rules for documents and comments: links resolve, nothing is unfinished, each choice of docs/groups names its test. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type File, finding, type Finding, matches, root } from './source.ts'

/** Marks of unfinished work, written in halves so that this file does not contain them. */
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
const withoutBlocks = (text: string): string => text.replace(/^(```|~~~)[^\n]*\n[\s\S]*?^\1[^\n]*$/gm, blank)
const proseOf = (text: string): string => withoutBlocks(text).replace(/`[^`\n]+`/g, blank)

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

/** Places for a name of the reader's choice, and benches of an earlier commit, which the page names. */
const notAFile = /\b(?:NAME|AREA|FILE|NNNN)\b|^path\/to\/|^first\.ts$|^bench\/|^backup\.sh$/

/** A source file that a page names in backticks is in the tree, by its whole path or its end. */
export function checkFileNames(files: readonly File[], paths: readonly string[]): readonly Finding[] {
  const isThere = (name: string) => paths.some((path) => path === name || path.endsWith(`/${name}`))
  return files
    .filter(({ path }) => path !== 'CHANGELOG.md')
    .flatMap((file) =>
      [...withoutBlocks(file.text).matchAll(/`([\w./-]+\.(?:ts|sql|mjs|css))`/g)]
        .filter(([, name = '']) => !notAFile.test(name) && !isThere(name.replace(/^(?:\.\.?\/)+/, '')))
        .map((match) => finding(file, match.index, `no file ${match[1]}`)),
    )
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

export type Choice = { readonly test: string; readonly at: number; readonly cells: number }

/** Rows of a page of docs/groups: not specified, our choice, why, test. */
export function readChoices({ text }: File): readonly Choice[] {
  const rows = [...text.matchAll(/^\|(.+)\|$/gm)].filter(([, row = '']) => !/^[\s|:-]+$/.test(row))
  return rows
    .map((match) => {
      const cells = (match[1] ?? '').split(/(?<!\\)\|/).map((cell) => cell.trim())
      const plain = (cell = '') => cell.replaceAll('`', '')
      return { test: plain(cells.at(-1)), at: match.index, cells: cells.length }
    })
    .filter(({ test }) => test !== 'test')
}

/** Requires a test file for each choice. `-` marks a choice without one; those are counted. */
export function checkChoices(file: File): readonly Finding[] {
  return readChoices(file).flatMap(({ test, at, cells }) => {
    if (cells !== 4) return [finding(file, at, 'a row is: not specified, our choice, why, test')]
    if (test === '-') return []
    if (!/^[\w./-]+\.test\.ts$/.test(test)) return [finding(file, at, `no test file is named: ${test}`)]
    return !existsSync(join(root, test)) ? [finding(file, at, `there is no ${test}`)] : []
  })
}
