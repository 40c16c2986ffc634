/** The routes of payment links: the page, its form, and the colours and logo of the partner. */
import { emailCharsMax, emailPattern, rawNumber } from '@partner-payments/wire'
import { accentCss } from '../branding/index.ts'
import type { Checkout, PayerPaymentLink } from '../checkout/index.ts'
import {
  type PublicAnswer,
  type PublicRequest,
  type PublicRoute,
  parseAmount as readMinor,
  Refusal,
} from '../kernel/api/index.ts'
import { isUuid, type Minor, newId } from '../kernel/index.ts'
import { pageHeaders } from './answer.ts'
import { logoPolicy } from './assets.ts'
import { readAmount } from './kit/request.ts'
import type { View } from './layout.ts'
import { linkPage, type LinkForm } from './link-page.ts'

type Deps = {
  readonly checkout: Pick<Checkout, 'link' | 'linkLogo' | 'openByLink'>
  readonly viewOf: (request: PublicRequest) => View
  readonly page: (request: PublicRequest, status: number, body: string) => PublicAnswer
  readonly seeOther: (location: string) => PublicAnswer
  readonly readName: (body: Buffer) => string | undefined
}

const readToken = ({ params }: PublicRequest): string => params['token'] ?? ''
const path = '/checkout/links/{token}'

export function linkRoutes({ checkout, viewOf, page, seeOther, readName }: Deps): readonly PublicRoute[] {
  const show = (request: PublicRequest, link: PayerPaymentLink, form: LinkForm, status: number, closed = link.closed) =>
    page(request, status, linkPage(viewOf(request), { link, token: readToken(request), form, closed }))
  return [
    {
      method: 'GET',
      path,
      handle: async (request) => show(request, await checkout.link(readToken(request)), emptyForm(), 200),
    },
    {
      method: 'POST',
      path,
      handle: async (request) => {
        const token = readToken(request)
        const link = await checkout.link(token)
        const { form, amount, email } = readForm(request, link, readName)
        if (form.wrong.size > 0) return show(request, link, form, 400)
        const name = form.name.trim()
        const opened = await checkout.openByLink(token, { name, email, amount, formId: form.formId, ip: request.ip })
        if ('closed' in opened) return show(request, link, form, 409, opened.closed)
        return seeOther(`../${opened.token}${viewOf(request).query}`)
      },
    },
    {
      method: 'GET',
      path: `${path}/accent.css`,
      handle: async (request) => {
        const { branding } = await checkout.link(readToken(request))
        const accent = { light: branding?.colour ?? undefined, dark: branding?.colourDark ?? undefined }
        const headers = { ...pageHeaders, 'content-type': 'text/css; charset=utf-8' }
        return { status: 200, headers, body: accentCss(accent) }
      },
    },
    {
      method: 'GET',
      path: `${path}/logo`,
      handle: async (request) => {
        const { bytes, type } = await checkout.linkLogo(readToken(request))
        return { status: 200, headers: { ...pageHeaders, ...logoPolicy, 'content-type': type }, body: bytes }
      },
    },
  ]
}

const emptyForm = (): LinkForm => ({ formId: newId(), name: '', email: '', amount: '', wrong: new Set() })

/** Reads the payer's input, and lists each invalid field. */
function readForm({ body }: PublicRequest, link: PayerPaymentLink, readName: Deps['readName']) {
  const given = new URLSearchParams(body.toString('utf8'))
  const text = (name: string) => given.get(name)?.trim() ?? ''
  const [typed, email] = [text('amount'), text('email')]
  const amount = link.amount === null ? readTypedAmount(typed, link) : null
  const wrong = new Set<'name' | 'email' | 'amount'>([
    ...(amount === undefined ? ['amount' as const] : []),
    ...(readName(body) === undefined ? ['name' as const] : []),
    ...(email !== '' && !isEmail(email) ? ['email' as const] : []),
  ])
  const formId = isUuid(text('form')) ? text('form').toLowerCase() : newId()
  const form: LinkForm = { formId, name: readName(body) ?? text('name'), email, amount: typed, wrong }
  return { form, amount: amount ?? null, email: email === '' ? null : email }
}

/** Parses a typed amount. Undefined: the text is not an amount, or the amount is outside the bounds of the link. */
function readTypedAmount(text: string, { currency, amountMin, amountMax }: PayerPaymentLink): Minor | undefined {
  const decimal = readAmount(text)
  if (decimal === undefined) return undefined
  try {
    const amount = readMinor(rawNumber(decimal), currency)
    return amount < amountMin || amount > amountMax ? undefined : amount
  } catch (error) {
    if (error instanceof Refusal) return undefined
    throw error
  }
}

const emailForm = new RegExp(emailPattern, 'u')
const isEmail = (text: string): boolean => text.length <= emailCharsMax && emailForm.test(text)
