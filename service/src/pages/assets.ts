/** The style sheet and the script, each under a name with its hash, so that browsers keep them for ever. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { PublicAnswer } from '../api/index.ts'
import { compressed } from './answer.ts'

type Asset = { readonly contentType: string; readonly body: Buffer }
export type Assets = {
  readonly css: string
  readonly js: string
  /** Undefined: no such file. */
  readonly find: (name: string, acceptEncoding: string | undefined) => PublicAnswer | undefined
}

const hashChars = 16

async function read(name: string, contentType: string): Promise<readonly [string, Asset]> {
  const body = await readFile(fileURLToPath(new URL(`./browser/${name}`, import.meta.url)))
  const hash = createHash('sha256').update(body).digest('hex').slice(0, hashChars)
  return [name.replace('.', `.${hash}.`), { contentType, body }]
}

export async function readAssets(): Promise<Assets> {
  const [css, js] = await Promise.all([
    read('checkout.css', 'text/css; charset=utf-8'),
    read('checkout.js', 'text/javascript; charset=utf-8'),
  ])
  const files = new Map([css, js])
  // A few files in three encodings: compressed once.
  const answers = new Map<string, PublicAnswer>()
  return {
    css: css[0],
    js: js[0],
    find: (name, acceptEncoding) => {
      const file = files.get(name)
      if (file === undefined) return undefined
      const key = `${name} ${acceptEncoding?.match(/br|gzip/g)?.join() ?? ''}`
      const headers = {
        'content-type': file.contentType,
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        'cross-origin-resource-policy': 'same-origin',
      }
      const answer = answers.get(key) ?? compressed({ status: 200, headers, body: file.body }, acceptEncoding, 'small')
      if (answers.size < answersKeptMax) answers.set(key, answer)
      return answer
    },
  }
}

const answersKeptMax = 16
