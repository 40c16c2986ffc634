/** Parts that the routes of money and customers share: permission, filters of the query, days, amounts, refusals of fields. */
import type { FieldError, Permission } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { fill } from '../language.ts'
import type { ConsoleLanguage } from './language.ts'
import { consoleMessage } from './message-page.ts'
import { type Form, type Frame, page, type Visitor, type With } from './request.ts'
import type { PaymentTexts } from './texts/payments-en.ts'
import { homeOf } from './view.ts'
import { paymentTexts } from './texts/payments.ts'

export const callOf = ({ caller }: Pick<Visitor, 'caller'>, { requestId, ip }: PublicRequest) => ({
  caller,
  requestId,
  ip,
})

type Act<P> = (request: PublicRequest, person: P) => Promise<PublicAnswer>

/** Answers a person who has the permission. An unknown id and a missing permission get a page that says so. */
export const permitted =
  <P extends Visitor>(withMoney: With<P>, permission: Permission, act: Act<P>): PublicRoute['handle'] =>
  (request) =>
    withMoney(request, async (person) => {
      const { caller, view } = person
      const { t } = view
      const p = paymentTexts[view.language]
      const home = { href: `${view.root}${homeOf(view)}`, label: t.home }
      const refuse = () =>
        page(request, 403, consoleMessage(view, t.refused, fill(p.noPermission, { permission }), home))
      if (!caller.permissions.includes(permission)) return refuse()
      try {
        return await act(request, person)
      } catch (error) {
        if (!(error instanceof Refusal)) throw error
        if (error.code === 'permission_denied') return refuse()
        if (error.code !== 'not_found') throw error
        return page(request, 404, consoleMessage(view, t.notFound, p.notFoundText, home))
      }
    })

export type Values = Readonly<Record<string, string>>

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

/** Reads an amount with at most one separator, so that `1,250` is never taken for 1.25. Undefined: it has another form. */
export function readAmount(text: string): string | undefined {
  const [, whole, decimals] = decimalForm.exec(text.trim()) ?? []
  if (whole === undefined) return undefined
  return decimals === undefined ? whole : `${whole}.${decimals}`
}

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

export type Problems = Readonly<Record<string, string>>

/** The words of all pages, with the refusals of a place. */
export function textsWith(
  { view: { language } }: Pick<Visitor, 'view'>,
  own: Readonly<Record<ConsoleLanguage, { readonly refusal: Readonly<Record<string, string>> }>>,
): PaymentTexts {
  const p = paymentTexts[language]
  return { ...p, refusal: { ...p.refusal, ...own[language].refusal } }
}

/** Words a refusal in the language of the page: by field, and as `form` what concerns the whole. Throws other errors. */
export function problemsOf(p: PaymentTexts, error: unknown, fields: readonly string[], own: Problems = {}): Problems {
  if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
  // An unknown id in a field is a problem of the field; one in the path is a page that does not exist.
  if (error.code === 'not_found' && error.errors.length === 0) throw error
  const known: Readonly<Record<string, string>> = p.refusal
  const byField = error.errors.map((field) => {
    const name = field.pointer.split('/').at(-1) ?? ''
    if (fields.includes(name)) return [name, own[name] ?? fieldText(p, field)] as const
    return ['form', known[error.code] ?? field.message] as const
  })
  return byField.length > 0 ? Object.fromEntries(byField) : { form: known[error.code] ?? error.detail }
}

/** The reason is the service's own, because only it says what is accepted. */
function fieldText(p: PaymentTexts, { code, message: reason }: FieldError): string {
  if (code === 'required' || code === 'empty') return p.fieldRequired
  if (code === 'too_precise') return p.fieldPrecise
  if (code === 'exists') return p.fieldExists
  const text = code === 'too_long' ? p.fieldTooLong : code === 'out_of_range' ? p.fieldRange : p.fieldWrong
  return fill(text, { reason })
}

/** The page of a list. A filter that the operation refuses gives an empty list with the problem at its field. */
export async function listed<T>(
  p: PaymentTexts,
  fields: readonly string[],
  read: () => Promise<{ readonly data: readonly T[]; readonly nextCursor: string | null }>,
): Promise<{ readonly data: readonly T[]; readonly nextCursor: string | null; readonly problems: Problems }> {
  try {
    return { ...(await read()), problems: {} }
  } catch (error) {
    return { data: [], nextCursor: null, problems: problemsOf(p, error, fields) }
  }
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

/** Reads a page of a list by the filters and the cursor of the query. */
export async function readList<T>(
  request: PublicRequest,
  { view }: Pick<Visitor, 'view'>,
  filters: readonly string[],
  read: (query: Partial<Values>) => ReturnType<Parameters<typeof listed<T>>[2]>,
) {
  const values = readQuery(request, filters)
  const { cursor } = readQuery(request, ['cursor'])
  const found = await listed(paymentTexts[view.language], filters, () => read({ ...timesOf(values), cursor }))
  const { data, nextCursor, problems } = found
  const path = request.path.split('/').at(-1) ?? ''
  return { data, shown: { values, problems, pages: pagesOf(path, values, cursor, nextCursor) } }
}

/** The status of a page with a form or filters. */
export const statusOf = (problems: Problems): 200 | 400 => (Object.keys(problems).length > 0 ? 400 : 200)

/** Makes the routes of a place. Each asks for a permission first. */
export const routesOf =
  <P extends Visitor>(frame: Frame, withMoney: With<P>, place: string) =>
  (
    method: 'GET' | 'POST',
    path: string,
    permission: Permission,
    act: (frame: Frame, request: PublicRequest, person: P) => Promise<PublicAnswer> | PublicAnswer,
  ): PublicRoute => ({
    method,
    path: `/console/${place}${path}`,
    handle: permitted(withMoney, permission, async (request, person) => act(frame, request, person)),
  })

/** The answer, or undefined if there is none. */
export const ifFound = <T>(reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((error: unknown) => {
    if (error instanceof Refusal && error.code === 'not_found') return undefined
    throw error
  })
