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
import { randomBytes } from '../../kernel/index.ts'
import type { Client } from '../../people/sign-in/index.ts'
import { compressed, pageHeaders } from '../answer.ts'
import { fill } from '../language.ts'
import type { Problems, Values } from './forms.ts'
import { livePartsOf } from './parts.ts'
import type { Texts } from './texts/en.ts'

export const headersOf = {
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
  const all = { ...headersOf, 'content-type': 'text/html; charset=utf-8' }
  const encoding = encodingFor(headers['accept-encoding'])
  if (!isLive(request) || status !== 200) return compressed({ status, headers: all, cookies, body }, encoding, 'quick')
  // The script of an open page asks for its live parts only, and only for what has changed.
  const parts = livePartsOf(body)
  const etag = `"${hash('sha256', parts, 'base64url')}"`
  if (headers['if-none-match'] === etag) return { status: 304, headers: { ...all, etag }, cookies, body: '' }
  return compressed({ status, headers: { ...all, etag }, cookies, body: parts }, encoding, 'quick')
}

/** Reports whether a page that is open asks by itself, as `console.js` does. */
export const isLive = ({ headers }: PublicRequest): boolean => headers['x-live'] !== undefined

/** Redirects after a form: the browser asks for the page, so that a reload does not send the form again. */
export const seeOther = (location: string, ...cookies: readonly string[]): PublicAnswer => ({
  status: 303,
  headers: { ...headersOf, location },
  cookies,
  body: '',
})

export const cookieAttributes = 'Path=/; Secure; HttpOnly; SameSite=Lax'

export const yearSeconds = 31_536_000

export const clientOf = ({ ip, headers }: PublicRequest): Client => ({ ip, userAgent: headers['user-agent'] ?? '' })

const deviceBytes = 32

const deviceForm = /^[\w-]{43}$/

/** The value of the device of a browser. Undefined: it has never signed in, or has forgotten it. */
export function deviceIn({ headers }: PublicRequest): string | undefined {
  const given = readCookie(headers['cookie'], deviceCookie) ?? ''
  return deviceForm.test(given) ? given : undefined
}

/** The client of a sign-in, with the value of its device: that of the cookie, or a new one. */
export function browserOf(request: PublicRequest): Client & { readonly device: string } {
  const device = deviceIn(request) ?? Buffer.from(randomBytes(deviceBytes)).toString('base64url')
  return { ...clientOf(request), device }
}

export const deviceCookieOf = (device: string): string =>
  `${deviceCookie}=${device}; ${cookieAttributes}; Max-Age=${yearSeconds}`

/** The id in the path of a page. Refuses (404) what is no id. */
export function idOf({ params }: PublicRequest): string {
  const id = params['id'] ?? ''
  if (!uuid.test(id)) throw notFound('page')
  return id
}

export const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
export const uuidChars = 36

const nextCharsMax = 1000

/** Path and query of a page of ours, below the root. It cannot begin with a slash, nor name a host or a scheme. */
const nextForm = /^(?!.*%2e)[a-z][a-z0-9-]*(?:\/(?!\.{1,2}(?:[/?]|$))[\w.%~-]+)*(?:\?[\w&=%.+*~-]*)?$/i

/** The page after the sign-in: one of ours. */
export const nextOf = (text: string | undefined): string =>
  text !== undefined && text.length <= nextCharsMax && nextForm.test(text) ? text : 'home'

/** The page that a form stood on, below the root of the pages. Undefined: the browser does not say. */
export function pageOf({ headers }: PublicRequest, root: 'console' | 'desk'): string | undefined {
  const { pathname, searchParams } = URL.parse(headers['referer'] ?? '') ?? {}
  const [, below] = pathname?.split(`/${root}/`, 2) ?? []
  if (below === undefined) return undefined
  searchParams?.delete('kept')
  const query = searchParams?.toString() ?? ''
  const path = query === '' ? below : `${below}?${query}`
  return nextOf(path) === path ? path : undefined
}

export type Form = (name: string) => string

/** The fields of a form. A field that is absent is empty. */
export function readForm({ body }: PublicRequest): Form {
  const fields = new URLSearchParams(body.toString('utf8'))
  return (name) => fields.getAll(name).join(',')
}

/** The values of a query that a list knows. Empty fields of a form are absent. */
export function readQuery({ query }: PublicRequest, names: readonly string[]): Values {
  const given = new URLSearchParams(query)
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = given.get(name)?.trim() ?? ''
      return value === '' ? [] : [[name, value] as const]
    }),
  )
}

/** Reads which form led to the page. Undefined: none of those. */
export const doneIn = <const Done extends string>(
  { query }: PublicRequest,
  known: readonly Done[],
): Done | undefined => {
  const done = new URLSearchParams(query).get('done')
  return known.find((each) => each === done)
}

/** The fields of a form, by their names. Empty ones are absent. */
export const valuesIn = (given: Form, names: readonly string[]): Values =>
  Object.fromEntries(names.flatMap((name) => (given(name).trim() === '' ? [] : [[name, given(name).trim()] as const])))

/** A query of RFC 3986: the API reads `+` as a plus. */
export const queryText = (values: Readonly<Record<string, string | undefined>>): string =>
  Object.entries(values)
    .flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${encodeURIComponent(value)}`]))
    .join('&')

export const linkOf = (path: string, values: Readonly<Record<string, string | undefined>>): string => {
  const query = queryText(values)
  return query === '' ? path : `${path}?${query}`
}

const dayMs = 86_400_000

/** The beginning of a day, or of the day after it. Another text is passed on, and refused by the operation. */
export function dayStart(day: string, daysAfter: 0 | 1 = 0): string {
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN
  return Number.isNaN(at) ? day : new Date(at + daysAfter * dayMs).toISOString()
}

const decimalForm = /^(0|[1-9]\d{0,11})(?:[.,](\d{1,2}))?$/

/** An amount with groups and decimals, whose separators differ: it can be read in one way only. */
const twoSeparators = /^[1-9]\d{0,2}(?:(?:\.\d{3}){1,3},\d{1,2}|(?:,\d{3}){1,3}\.\d{1,2})$/

/**
 * Reads an amount with at most one separator, so that `1,250` is never taken for 1.25, or as an invoice has it: `1.250,00`, `1,250.00`.
 * Undefined: it has another form.
 */
export function readAmount(text: string): string | undefined {
  const typed = text.trim()
  const plain = twoSeparators.test(typed) ? typed.replaceAll(/[.,](?=\d{3})/g, '') : typed
  const [, whole, decimals] = decimalForm.exec(plain) ?? []
  if (whole === undefined) return undefined
  return decimals === undefined ? whole : `${whole}.${decimals}`
}

const groupedForm = /^\d{1,3}(?:([.,])\d{3})(?:\1\d{3})*$/

const currencySigns: Readonly<Record<string, string>> = { '€': 'EUR', '£': 'GBP', $: 'USD' }

/** Amounts that a typed text may be, with the currency if it has one. Empty: it is none. */
export type TypedAmounts = { readonly amounts: readonly string[]; readonly currency?: string }

/**
 * Reads an amount as people write it: `7500`, `7.500,00`, `7,500.00 EUR`, `€ 7 500`. Of two kinds of separators the last one begins the
 * decimals. Three digits behind the only one may be thousands or decimals: both are read.
 */
export function readTypedAmounts(text: string): TypedAmounts {
  const [, before = '', number = '', behind = ''] =
    /^\s*([A-Za-z]{3,5}|[€£$])?\s*(\d[\d.,'’\s]*?)\s*([A-Za-z]{3,5}|[€£$])?\s*$/.exec(text) ?? []
  const digits = number.replaceAll(/['’\s]/g, '')
  const code = before || behind
  if (digits === '' || digits.length > 30 || (before !== '' && behind !== '')) return { amounts: [] }
  const currency = code === '' ? {} : { currency: currencySigns[code] ?? code.toUpperCase() }
  const last = Math.max(digits.lastIndexOf('.'), digits.lastIndexOf(','))
  if (last < 0) return { amounts: [wholeOf(digits)], ...currency }
  const [head, tail] = [digits.slice(0, last), digits.slice(last + 1)]
  const isGrouped = groupedForm.test(digits)
  const other = digits[last] === '.' ? ',' : '.'
  const isPlainHead = /^\d+$/.test(head)
  const isGroupedHead = groupedForm.test(head) && head.includes(other) && !head.includes(digits[last] ?? '')
  const isDecimal = /^\d{1,6}$/.test(tail) && (isPlainHead || isGroupedHead)
  return {
    amounts: [
      ...(isGrouped ? [wholeOf(digits.replaceAll(/[.,]/g, ''))] : []),
      ...(isDecimal ? [`${wholeOf(head.replaceAll(/[.,]/g, ''))}.${tail}`] : []),
    ],
    ...currency,
  }
}

const wholeOf = (digits: string): string => digits.replace(/^0+(?=\d)/, '')

const exactForm = /^(0|[1-9]\d{0,11})(?:[.,](\d{1,18}))?$/

/**
 * Reads an amount of any currency with all decimals that were typed. `ambiguous`: three decimals may be thousands, as in `1,250`.
 * Undefined: it has another form.
 */
export function readExactAmount(text: string): string | undefined {
  const [, whole, decimals] = exactForm.exec(text.trim()) ?? []
  if (whole === undefined) return undefined
  if (decimals === undefined) return whole
  return decimals.length === 3 ? 'ambiguous' : `${whole}.${decimals}`
}

/** Days of the filters as times. */
export const timesOf = ({ createdFrom, createdTo, updatedSince, ...rest }: Values): Partial<Values> => ({
  ...rest,
  createdFrom: createdFrom && dayStart(createdFrom),
  createdTo: createdTo && dayStart(createdTo, 1),
  updatedSince: updatedSince && dayStart(updatedSince),
})

/** Links of the pages of a list. */
export const pagesOf = (path: string, values: Values, cursor: string | undefined, nextCursor: string | null) => ({
  next: nextCursor === null ? undefined : linkOf(path, { ...values, cursor: nextCursor }),
  first: cursor && linkOf(path, values),
})

/** The status of a page with a form or filters. */
export const statusOf = (problems: Problems): 200 | 400 => (Object.keys(problems).length > 0 ? 400 : 200)

/** The service checks the same length. */
export const passwordCharsMin = 12

export const passwordCharsMax = 1000

/** Characters of a code of six digits, with a blank in the middle. */
export const codeCharsMax = 7

/** A reason of the service for people: names of the API stand between marks of code. */
export const withoutMarks = (reason: string): string => reason.replaceAll('`', '')

/** Returns the text of each field's refusal, by its name. `form`: a refusal of the form as a whole. */
export function errorsOf(t: Texts, error: unknown): Readonly<Record<string, string>> {
  if (!(error instanceof Refusal)) throw error
  const fields = error.errors.map((refused) => {
    const name = refused.pointer.split('/').at(-1) ?? ''
    return name in fieldTexts
      ? ([name, fieldTexts[name]?.(t, refused.code) ?? ''] as const)
      : (['form', withoutMarks(refused.message)] as const)
  })
  if (fields.length > 0) return Object.fromEntries(fields)
  return { form: formTexts[error.code]?.(t) ?? withoutMarks(error.detail) }
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
