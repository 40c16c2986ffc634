/** The style sheet, the script and the brand, each under a name with its hash, so that browsers keep them for ever. */
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import type { Encoding, PublicAnswer } from '../kernel/api/index.ts'
import { accentCss, type Brand } from '../branding/index.ts'
import { compressAnswer } from './answer.ts'

/** The brand of the installation in a page: its name, and the names of its files. */
export type PageBrand = { readonly name?: string; readonly logo?: string; readonly css?: string }

export type Assets = {
  readonly css: string
  readonly js: string
  readonly brand: PageBrand
  /** Finds a file by its name. Undefined: no such file. */
  readonly find: (name: string, encoding: Encoding) => PublicAnswer<string | Buffer> | undefined
}

const hashChars = 16
/** Stops scripts in an image file that a person opens directly. */
export const logoPolicy = { 'content-security-policy': "default-src 'none'; sandbox" }

const read = async (file: URL, contentType: string) =>
  asset(basename(file.pathname), await readFile(file), { 'content-type': contentType })

function asset(name: string, body: Buffer, own: Readonly<Record<string, string>>) {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, hashChars)
  const headers = {
    ...own,
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  }
  const answers = new Map<Encoding, PublicAnswer<string | Buffer>>()
  const answer = (encoding: Encoding) => {
    const known = answers.get(encoding) ?? compressAnswer({ status: 200, headers, body }, encoding, 'small')
    answers.set(encoding, known)
    return known
  }
  return [name.replace('.', `.${hash}.`), answer] as const
}

/** Compresses each file once for each encoding, at its first request. A client cannot cause another compression. */
export async function readAssets(folder: URL, site: string, brand: Brand): Promise<Assets> {
  const [css, js] = await Promise.all([
    read(new URL(`${site}.css`, folder), 'text/css; charset=utf-8'),
    read(new URL(`${site}.js`, folder), 'text/javascript; charset=utf-8'),
  ])
  const logo = logoAsset(brand)
  const accent = accentAsset(brand)
  const files = new Map([css, js, ...(logo ? [logo] : []), ...(accent ? [accent] : [])])
  const shown = {
    ...(brand.name === undefined ? {} : { name: brand.name }),
    ...(logo ? { logo: logo[0] } : {}),
    ...(accent ? { css: accent[0] } : {}),
  }
  return {
    css: css[0],
    js: js[0],
    brand: shown,
    find: (name, encoding) => files.get(name)?.(encoding),
  }
}

const logoAsset = ({ logo }: Brand) =>
  logo && asset(`logo.${logoExtensions[logo.type]}`, logo.bytes, { 'content-type': logo.type, ...logoPolicy })
const logoExtensions = { 'image/png': 'png', 'image/svg+xml': 'svg' } as const

const accentAsset = ({ accent }: Brand) =>
  accent && asset('brand.css', Buffer.from(accentCss(accent)), { 'content-type': 'text/css; charset=utf-8' })
