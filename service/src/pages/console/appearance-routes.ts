/** The page of the branding of payment pages, its form, and the logo that it shows. */
import type { ResponseOf } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { accentsOf } from '../../branding/index.ts'
import { logoPolicy } from '../assets.ts'
import { pageHeaders } from '../answer.ts'
import { fill } from '../language.ts'
import { appearanceFields, appearancePage } from './appearance-page.ts'
import { readFormData } from './bulk-csv.ts'
import { callOf, permitted, type Problems, problemsOf, readQuery, type Values } from './payments-request.ts'
import { type Frame, page, type Person, type Routes, seeOther } from './request.ts'
import { appearanceTexts } from './texts/appearance.ts'
import { paymentTexts } from './texts/payments.ts'

type Branding = ResponseOf<'getCheckoutBranding'>
type Typed = { readonly values: Values; readonly problems: Problems }

/** A logo of 64 KiB with the other fields. */
const formBytesMax = 128 * 1024

const valuesOf = ({ name, accentColour, accentColourDark }: Branding): Values => ({
  ...(name === undefined ? {} : { name }),
  ...(accentColour === undefined ? {} : { accentColour }),
  ...(accentColourDark === undefined ? {} : { accentColourDark }),
})

async function show({ operate }: Frame, request: PublicRequest, person: Person, typed?: Typed): Promise<PublicAnswer> {
  const { view, caller, partnerName } = person
  const current = await operate('getCheckoutBranding', callOf(person, request))
  const { accentColour: light, accentColourDark: dark } = current
  const shown = {
    ...(typed ?? { values: valuesOf(current), problems: {} }),
    hasLogo: current.logo !== undefined,
    shownName: current.name ?? partnerName,
    accents: accentsOf({ light, dark }),
    isSaved: typed === undefined && readQuery(request, ['done'])['done'] === 'saved',
    mayWrite: caller.permissions.includes('checkout:write'),
  }
  const status = typed === undefined ? 200 : 400
  return page(request, status, appearancePage({ ...view, current: 'checkout' }, shown))
}

async function save(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const a = appearanceTexts[person.view.language]
  const form = await readFormData(request.body)
  const text = (name: string): string => {
    const value = form.get(name)
    return typeof value === 'string' ? value.trim() : ''
  }
  const file = form.get('logo')
  const bytes = file instanceof File ? Buffer.from(await file.arrayBuffer()) : Buffer.alloc(0)
  const isRemoved = text('removeLogo') === 'yes'
  const body = {
    name: text('name') || null,
    accentColour: text('accentColour') || null,
    accentColourDark: text('accentColourDark') || null,
    ...(bytes.length > 0 ? { logo: bytes.toString('base64') } : isRemoved ? { logo: null } : {}),
  }
  try {
    await frame.operate('setCheckoutBranding', { ...callOf(person, request), body })
    return seeOther('appearance?done=saved')
  } catch (error) {
    const colours = { accentColour: colourWords(a, error), accentColourDark: colourWords(a, error) }
    const words = { ...colours, logo: a.logoWrong }
    const problems = problemsOf(paymentTexts[person.view.language], error, appearanceFields, words)
    const values = Object.fromEntries(appearanceFields.map((name) => [name, text(name)]))
    return show(frame, request, person, { values, problems })
  }
}

/** A colour with too little contrast is told with the nearest one that passes. */
function colourWords(a: (typeof appearanceTexts)['en' | 'de'], error: unknown): string {
  const [first] = error instanceof Refusal && error.code === 'contrast_too_low' ? error.errors : []
  const [colour] = /#[0-9a-f]{6}$/.exec(first?.message ?? '') ?? []
  return colour === undefined ? a.colourWrong : fill(a.contrast, { colour })
}

async function showLogo({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { logo } = await operate('getCheckoutBranding', callOf(person, request))
  if (logo === undefined) throw notFound('logo')
  const headers = { ...pageHeaders, ...logoPolicy, 'content-type': logo.type }
  return { status: 200, headers, body: Buffer.from(logo.data, 'base64') }
}

export const appearanceRoutes: Routes = (frame, _withPerson, withMoney) => {
  type Act = (frame: Frame, request: PublicRequest, person: Person) => Promise<PublicAnswer>
  const route = (
    method: 'GET' | 'POST',
    path: string,
    permission: 'checkout:read' | 'checkout:write',
    act: Act,
  ): PublicRoute => ({
    method,
    path: `/console/checkout/appearance${path}`,
    ...(method === 'POST' ? { bodyBytesMax: formBytesMax } : {}),
    handle: permitted(withMoney, permission, async (request, person) => act(frame, request, person)),
  })
  return [
    route('GET', '', 'checkout:read', show),
    route('POST', '', 'checkout:write', save),
    route('GET', '/logo', 'checkout:read', showLogo),
  ]
}
