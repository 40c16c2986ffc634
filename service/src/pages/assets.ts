/** The style sheet and the script, each under a name with its hash, so that browsers keep them for ever. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Encoding, PublicAnswer } from '../api/index.ts'
import { compressed } from './answer.ts'

export type Assets = {
  readonly css: string
  readonly js: string
  /** Undefined: no such file. */
  readonly find: (name: string, encoding: Encoding) => PublicAnswer<string | Buffer> | undefined
}

const hashChars = 16
const encodings = ['br', 'gzip', 'identity'] as const satisfies readonly Encoding[]

async function read(file: URL, contentType: string) {
  const body = await readFile(file)
  const name = basename(file.pathname)
  const hash = createHash('sha256').update(body).digest('hex').slice(0, hashChars)
  const headers = {
    'content-type': contentType,
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  }
  const answers = encodings.map((encoding) => compressed({ status: 200, headers, body }, encoding, 'small'))
  return [name.replace('.', `.${hash}.`), answers] as const
}

/** Compresses each file of a site once, at start: nothing that a client sends causes another compression. */
export async function readAssets(folder: URL, site: string): Promise<Assets> {
  const [css, js] = await Promise.all([
    read(new URL(`${site}.css`, folder), 'text/css; charset=utf-8'),
    read(new URL(`${site}.js`, folder), 'text/javascript; charset=utf-8'),
  ])
  const files = new Map([css, js])
  return { css: css[0], js: js[0], find: (name, encoding) => files.get(name)?.[encodings.indexOf(encoding)] }
}
