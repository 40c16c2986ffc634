/** The appearance of the payment page: colours, logo and name, with a preview. */
import { nameCharsMax } from '@partner-payments/wire'
import type { ResponseOf } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { accentsOf } from '../../branding/index.ts'
import { pageHeaders } from '../answer.ts'
import { logoPolicy } from '../assets.ts'
import { html, type Html } from '../html.ts'
import { field, type Problems, type Values } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { readFormData } from '../kit/multipart.ts'
import { message } from '../kit/parts.ts'
import { page, readQuery, seeOther } from '../kit/request.ts'
import { fill } from '../language.ts'
import { callOf, type Frame, permitted, type Person, problemsOf, type Routes } from './request.ts'
import { type ConsoleTexts, texts } from './texts/index.ts'

const appearanceFields: readonly string[] = ['name', 'accentColour', 'accentColourDark', 'logo']

type Appearance = {
  readonly values: Values
  readonly problems: Problems
  readonly hasLogo: boolean
  /** Name that payers see now. */
  readonly shownName: string
  /** The accents that the pages have now, as `#rrggbb`. */
  readonly accents: { readonly light: string; readonly dark: string }
  readonly isSaved: boolean
  readonly mayWrite: boolean
}

export function appearancePage(view: ConsoleView, appearance: Appearance): string {
  const a = texts[view.language].appearance
  const { problems, isSaved, mayWrite } = appearance
  return shell(view, {
    title: a.title,
    problems,
    main: html`${isSaved && message('good', a.saved)}
      <h1>${a.title}</h1>
      <p class="lead">${a.lead}</p>
      ${pictures(view, appearance)} ${mayWrite && form(view, appearance)}
      <p class="foot"><a href="${view.root}checkout">${a.back}</a></p>`,
  })
}

const grounds = {
  light: { page: '#ffffff', text: '#10141d', onAccent: '#ffffff' },
  dark: { page: '#161b23', text: '#eef0f4', onAccent: '#0d1016' },
} as const

function pictures(view: ConsoleView, { accents, shownName, hasLogo }: Appearance): Html {
  const a = texts[view.language].appearance
  return html`<div class="pictures">
    ${(['light', 'dark'] as const).map(
      (theme) =>
        html`<figure>
          <svg viewBox="0 0 280 120" role="img" aria-label="${a[theme]}" width="280" height="120">
            <rect width="280" height="120" rx="8" fill="${grounds[theme].page}" stroke="#8a93a3" />
            <text x="20" y="36" font-size="16" font-weight="600" fill="${grounds[theme].text}">${shownName}</text>
            <rect x="20" y="60" width="140" height="36" rx="6" fill="${accents[theme]}" />
            <text x="90" y="83" font-size="14" text-anchor="middle" fill="${grounds[theme].onAccent}">${a.button}</text>
            <text x="180" y="83" font-size="14" fill="${accents[theme]}">${a.link}</text>
          </svg>
          <figcaption>${a[theme]}</figcaption>
        </figure>`,
    )}
    ${
      hasLogo &&
      html`<figure>
        <img src="${view.root}checkout/appearance/logo" alt="${a.logo}" height="64" />
        <figcaption>${a.logo}</figcaption>
      </figure>`
    }
  </div>`
}

function form(view: ConsoleView, { values, problems, hasLogo }: Appearance): Html {
  const a = texts[view.language].appearance
  const input = (name: string, label: string, help: string, more = html`autocomplete="off"`) =>
    field({
      ...{ id: name, name, label, help, value: values[name] ?? '', error: problems[name] },
      ...{ optional: true, more },
    })
  const colour = html`autocomplete="off" spellcheck="false" maxlength="7" placeholder="#2449c8"`
  const error = problems['logo']
  return html`<form class="card" method="post" action="${view.root}checkout/appearance" enctype="multipart/form-data">
    ${input('name', a.name, a.nameHelp, html`maxlength="${nameCharsMax}" autocomplete="off"`)}
    ${input('accentColour', a.accentColour, a.accentHelp, colour)}
    ${input('accentColourDark', a.accentColourDark, a.accentDarkHelp, colour)}
    <div class="field${error !== undefined && ' wrong'}">
      <label for="logo">${a.logo}</label>
      <p class="help" id="logo-help">${a.logoHelp}</p>
      ${error !== undefined && html`<p class="error" id="logo-error">${error}</p>`}
      <input
        type="file"
        id="logo"
        name="logo"
        accept=".png,.svg,image/png,image/svg+xml"
        aria-describedby="${error !== undefined && 'logo-error '}logo-help"
        ${error !== undefined && html` aria-invalid="true"`}
      />
    </div>
    ${
      hasLogo &&
      html`<div class="check">
        <input type="checkbox" id="removeLogo" name="removeLogo" value="yes" />
        <label for="removeLogo">${a.removeLogo}</label>
      </div>`
    }
    <button type="submit" class="primary">${a.save}</button>
  </form>`
}

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
  const a = texts[person.view.language].appearance
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
    const problems = problemsOf(texts[person.view.language].payments, error, appearanceFields, words)
    const values = Object.fromEntries(appearanceFields.map((name) => [name, text(name)]))
    return show(frame, request, person, { values, problems })
  }
}

/** A colour with too little contrast is told with the nearest one that passes. */
function colourWords(a: ConsoleTexts['appearance'], error: unknown): string {
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
