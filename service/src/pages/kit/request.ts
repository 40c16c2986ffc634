/** Parts of requests and answers: HTML with its headers, cookies of a browser, fields of forms and queries, days, amounts, links, refusals. */
import { hash } from 'node:crypto'
import type { FieldError, ProblemCode } from '@partner-payments/wire'
import {
  deviceCookie,
  encodingFor,
  notFound,
  type PublicAnswer,
  type PublicRequest,
  readCookie,
  Refusal,
} from '../../kernel/api/index.ts'
import { randomBytes, uuidPattern } from '../../kernel/index.ts'
import type { Client } from '../../people/sign-in/index.ts'
import { compressAnswer, pageHeaders } from '../answer.ts'
import { fill } from '../language.ts'
import type { FieldProblems, FieldValues } from './forms.ts'
import { liveRegions } from './parts.ts'
import type { Texts } from './texts/en.ts'

export const consoleHeaders = {
  ...pageHeaders,
  'content-security-policy': `${pageHeaders['content-security-policy']}; require-trusted-types-for 'script'`,
}

export function page(
  request: PublicRequest,
  status: number,
  body: string,
  ...cookies: readonly string[]
): PublicAnswer {
  const { headers } = request
  const all = { ...consoleHeaders, 'content-type': 'text/html; charset=utf-8' }
  const encoding = encodingFor(headers['accept-encoding'])
  if (!isPollingRequest(request) || status !== 200)
    return compressAnswer({ status, headers: all, cookies, body }, encoding, 'quick')
  // The script of an open page polls only its live parts, and only changed ones.
  const parts = liveRegions(body)
  const etag = `"${hash('sha256', parts, 'base64url')}"`
  if (headers['if-none-match'] === etag) return { status: 304, headers: { ...all, etag }, cookies, body: '' }
  return compressAnswer({ status, headers: { ...all, etag }, cookies, body: parts }, encoding, 'quick')
}

/** Reports whether the request is a poll by the script of an open page, and not by a person. */
export const isPollingRequest = ({ headers }: PublicRequest): boolean => headers['x-live'] !== undefined

/** Redirects to a page after a form, so that a reload does not send the form again. */
export const seeOther = (location: string, ...cookies: readonly string[]): PublicAnswer => ({
  status: 303,
  headers: { ...consoleHeaders, location },
  cookies,
  body: '',
})

export const cookieAttributes = 'Path=/; Secure; HttpOnly; SameSite=Lax'

export const yearSeconds = 31_536_000

export const readClient = ({ ip, headers }: PublicRequest): Client => ({ ip, userAgent: headers['user-agent'] ?? '' })

const deviceBytes = 32

const devicePattern = /^[\w-]{43}$/

/** Reads the device cookie of a browser. Undefined: the browser has never signed in, or deleted the cookie. */
export function readDevice({ headers }: PublicRequest): string | undefined {
  const given = readCookie(headers['cookie'], deviceCookie) ?? ''
  return devicePattern.test(given) ? given : undefined
}

/** Reads the client of a sign-in with its device, which is new if the browser has no device cookie. */
export function readBrowser(request: PublicRequest): Client & { readonly device: string } {
  const device = readDevice(request) ?? Buffer.from(randomBytes(deviceBytes)).toString('base64url')
  return { ...readClient(request), device }
}

export const deviceCookieFor = (device: string): string =>
  `${deviceCookie}=${device}; ${cookieAttributes}; Max-Age=${yearSeconds}`

/** Reads the id in the path of a page. Refuses: not_found for a text that is not a UUID. */
export function readId({ params }: PublicRequest): string {
  const id = params['id'] ?? ''
  if (!uuidPattern.test(id)) throw notFound('page')
  return id
}

export const uuidChars = 36

const nextCharsMax = 1000

/** Path and query of a page of this site, below the root: without a leading slash, a host or a scheme. */
const nextPattern = /^(?!.*%2e)[a-z][a-z0-9-]*(?:\/(?!\.{1,2}(?:[/?]|$))[\w.%~-]+)*(?:\?[\w&=%.+*~-]*)?$/i

/** Returns the path if it is a page of this site, else the home page. Prevents redirects to other sites. */
export const safeNextPath = (text: string | undefined): string =>
  text !== undefined && text.length <= nextCharsMax && nextPattern.test(text) ? text : 'home'

/** Reads the page of a form, below the root, from the `Referer`. Undefined: the browser does not send it. */
export function readRefererPath({ headers }: PublicRequest, root: 'console' | 'desk'): string | undefined {
  const { pathname, searchParams } = URL.parse(headers['referer'] ?? '') ?? {}
  const [, below] = pathname?.split(`/${root}/`, 2) ?? []
  if (below === undefined) return undefined
  searchParams?.delete('kept')
  const query = searchParams?.toString() ?? ''
  const path = query === '' ? below : `${below}?${query}`
  return safeNextPath(path) === path ? path : undefined
}

export type FieldReader = (name: string) => string

/** Reads the fields of a form. An absent field is empty. */
export function readForm({ body }: PublicRequest): FieldReader {
  const fields = new URLSearchParams(body.toString('utf8'))
  return (name) => fields.getAll(name).join(',')
}

/** Reads the known fields of a query. Empty ones are absent. */
export function readQuery({ query }: PublicRequest, names: readonly string[]): FieldValues {
  const given = new URLSearchParams(query)
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = given.get(name)?.trim() ?? ''
      return value === '' ? [] : [[name, value] as const]
    }),
  )
}

/** Reads from the query which form was just sent. Undefined: none of `known`. */
export const readCompletedForm = <const Done extends string>(
  { query }: PublicRequest,
  known: readonly Done[],
): Done | undefined => {
  const done = new URLSearchParams(query).get('done')
  return known.find((each) => each === done)
}

/** Reads fields of a form by name. Empty ones are absent. */
export const readValues = (given: FieldReader, names: readonly string[]): FieldValues =>
  Object.fromEntries(names.flatMap((name) => (given(name).trim() === '' ? [] : [[name, given(name).trim()] as const])))

/** Formats a query string (RFC 3986). A space is `%20`, because the API reads `+` as a plus. */
export const queryText = (values: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(values)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&')

export const pathWithQuery = (path: string, values: Readonly<Record<string, string | undefined>>): string => {
  const query = queryText(values)
  return query === '' ? path : `${path}?${query}`
}

const dayMs = 86_400_000

/** Returns the start of a day, or of the next one. A text that is not a day is returned for the operation to refuse. */
export function dayStart(day: string, daysAfter: 0 | 1 = 0): string {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN
  return Number.isNaN(at) ? day : new Date(at + daysAfter * dayMs).toISOString()
}

const decimalPattern = /^(0|[1-9]\d{0,11})(?:[.,](\d{1,2}))?$/

/** Matches an amount with different separators for groups and decimals, which is unambiguous. */
const twoSeparators = /^[1-9]\d{0,2}(?:(?:\.\d{3}){1,3},\d{1,2}|(?:,\d{3}){1,3}\.\d{1,2})$/

/**
 * Reads an amount with at most one separator, so that `1,250` is never read as 1.25, or with two separators as on
 * invoices: `1.250,00`, `1,250.00`. Undefined: the text has another format.
 */
export function readAmount(text: string): string | undefined {
  const typed = text.trim()
  const plain = twoSeparators.test(typed) ? typed.replaceAll(/[.,](?=\d{3})/g, '') : typed
  const [, whole, decimals] = decimalPattern.exec(plain) ?? []
  if (whole === undefined) return undefined
  return decimals === undefined ? whole : `${whole}.${decimals}`
}

const groupedPattern = /^\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*$/

export const currencySigns: Readonly<Record<string, string>> = { '€': 'EUR', '£': 'GBP', $: 'USD' }

/** The possible readings of a typed amount, with its currency if the text has one. Empty: the text is not an amount. */
export type TypedAmounts = { readonly amounts: readonly string[]; readonly currency?: string }

/**
 * Reads an amount as people write it: `7500`, `7.500,00`, `7,500.00 EUR`, `€ 7 500`. If there are two kinds of
 * separators, the last one begins the decimals. Three digits after a single separator may be thousands or decimals:
 * returns both readings.
 */
export function readTypedAmounts(text: string): TypedAmounts {
  const [, before = '', number = '', behind = ''] =
    /^\s*([A-Za-z]{3,5}|[€£$])?\s*(\d[\d.,'’\s]*?)\s*([A-Za-z]{3,5}|[€£$])?\s*$/.exec(text) ?? []
  const digits = number.replaceAll(/['’\s]/g, '')
  const code = before || behind
  if (digits === '' || digits.length > 30 || (before !== '' && behind !== '')) return { amounts: [] }
  const currency = code === '' ? {} : { currency: currencySigns[code] ?? code.toUpperCase() }
  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','))
  if (last < 0) return { amounts: [withoutLeadingZeros(digits)], ...currency }
  const [head, tail] = [digits.slice(0, last), digits.slice(last + 1)]
  const isGrouped = groupedPattern.test(digits)
  const other = digits[last] === '.' ? ',' : '.'
  const isPlainHead = /^\d+$/.test(head)
  const isGroupedHead = groupedPattern.test(head) && head.includes(other) && !head.includes(digits[last] ?? '')
  const isDecimal = /^\d{1,6}$/.test(tail) && (isPlainHead || isGroupedHead)
  return {
    amounts: [
      ...(isGrouped ? [withoutLeadingZeros(digits.replaceAll(/[.,]/g, ''))] : []),
      ...(isDecimal ? [`${withoutLeadingZeros(head.replaceAll(/[.,]/g, ''))}.${tail}`] : []),
    ],
    ...currency,
  }
}

const withoutLeadingZeros = (digits: string): string => digits.replace(/^0+(?=\d)/, '')

const exactPattern = /^(0|[1-9]\d{0,11})(?:[.,](\d{1,18}))?$/

/**
 * Reads an amount of any currency with all decimals that were typed. `ambiguous`: three decimals may be thousands, as
 * in `1,250`. Undefined: the text has another format.
 */
export function readExactAmount(text: string): string | undefined {
  const [, whole, decimals] = exactPattern.exec(text.trim()) ?? []
  if (whole === undefined) return undefined
  if (decimals === undefined) return whole
  return decimals.length === 3 ? 'ambiguous' : `${whole}.${decimals}`
}

/** Replaces the days in the filters by the times at which they begin or end. */
export const withTimes = ({ createdFrom, createdTo, updatedSince, ...rest }: FieldValues): Partial<FieldValues> => ({
  ...rest,
  createdFrom: createdFrom && dayStart(createdFrom),
  createdTo: createdTo && dayStart(createdTo, 1),
  updatedSince: updatedSince && dayStart(updatedSince),
})

/** Returns the links to the next and the first page of a list. */
export const pageLinks = (
  path: string,
  values: FieldValues,
  cursor: string | undefined,
  nextCursor: string | null,
) => ({
  next: nextCursor === null ? undefined : pathWithQuery(path, { ...values, cursor: nextCursor }),
  first: cursor && pathWithQuery(path, values),
})

/** Returns the HTTP status of a page with a form or filters. */
export const pageStatus = (problems: FieldProblems): 200 | 400 => (Object.keys(problems).length > 0 ? 400 : 200)

/** `people/sign-in` checks the same length. */
export const passwordCharsMin = 12

export const passwordCharsMax = 1000

/** Characters of a code of six digits, with a blank in the middle. */
export const codeCharsMax = 7

/** Removes the backticks around names of the API, for people. */
export const withoutBackticks = (reason: string): string => reason.replaceAll('`', '')

/** Returns the text of each field's refusal, by its name. `form`: a refusal of the form as a whole. */
export function refusalTexts(t: Texts, error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof Refusal)) throw error
  const fields = error.errors.map((refused) => {
    const name = refused.pointer.split('/').at(-1) ?? ''
    return name in fieldTexts
      ? ([name, fieldTexts[name]?.(t, refused.code) ?? ''] as const)
      : (['form', withoutBackticks(refused.message)] as const)
  })
  if (fields.length > 0) return Object.fromEntries(fields)
  return { form: formTexts[error.code]?.(t) ?? withoutBackticks(error.detail) }
}

const fieldTexts: Readonly<Record<string, (t: Texts, code: FieldError['code']) => string>> = {
  password: (t, code) =>
    code === 'out_of_range' ? fill(t.passwordShort, { count: String(passwordCharsMin) }) : t.passwordCommon,
  code: (t) => t.codeWrong,
  email: (t, code) => (code === 'exists' ? t.invitationExists : t.emailWrong),
  fullName: (t) => t.fullNameWrong,
  role: (t) => t.roleWrong,
}

const formTexts: Readonly<Partial<Record<ProblemCode, (t: Texts) => string>>> = {
  last_admin: (t) => t.lastAdmin,
  resend_too_soon: (t) => t.tooSoon,
  rate_limited: (t) => t.tooManyText,
}
