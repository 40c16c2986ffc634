/** The appearance of the payment page: colours, logo and name, with a preview. */
import { nameCharsMax, type ResponseOf } from '@partner-payments/wire'
import { notFound, type PublicAnswer, type PublicRequest, Refusal } from '../../kernel/api/index.ts'
import { themeAccents } from '../../branding/index.ts'
import { pageHeaders } from '../answer.ts'
import { logoPolicy } from '../assets.ts'
import { html, type Html } from '../html.ts'
import { checkbox, inputs, type FormState, type FieldValues } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { readFormData } from '../kit/multipart.ts'
import { message } from '../kit/parts.ts'
import { readCompletedForm, page, seeOther } from '../kit/request.ts'
import { fill } from '../language.ts'
import { callOf, type Frame, may, type Person, refusalProblems, type Routes, placeRoutes } from './request.ts'
import { type ConsoleTexts, texts } from './texts/index.ts'

const appearanceFields: readonly string[] = ['name', 'accentColour', 'accentColourDark', 'logo']

type Appearance = FormState & {
  readonly hasLogo: boolean
  /** The name that payers see. */
  readonly shownName: string
  /** The accent colours of the pages, as `#rrggbb`. */
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
      ${previews(view, appearance)} ${mayWrite && form(view, appearance)}
      <p class="foot"><a href="${view.root}checkout">${a.back}</a></p>`,
  })
}

const themeColours = {
  light: { page: '#ffffff', text: '#10141d', onAccent: '#ffffff' },
  dark: { page: '#161b23', text: '#eef0f4', onAccent: '#0d1016' },
} as const

function previews(view: ConsoleView, { accents, shownName, hasLogo }: Appearance): Html {
  const a = texts[view.language].appearance
  return html`<div class="pictures">
    ${(['light', 'dark'] as const).map(
      (theme) =>
        html`<figure>
          <svg viewBox="0 0 280 120" role="img" aria-label="${a[theme]}" width="280" height="120">
            <rect width="280" height="120" rx="8" fill="${themeColours[theme].page}" stroke="#8a93a3" />
            <text x="20" y="36" font-size="16" font-weight="600" fill="${themeColours[theme].text}">${shownName}</text>
            <rect x="20" y="60" width="140" height="36" rx="6" fill="${accents[theme]}" />
            <text x="90" y="83" font-size="14" text-anchor="middle" fill="${themeColours[theme].onAccent}">
              ${a.button}
            </text>
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
  const optional = 'unmarked'
  const colour = { charsMax: colourCharsMax, more: html`spellcheck="false" placeholder="#2449c8"`, optional } as const
  return html`<form class="card" method="post" action="${view.root}checkout/appearance" enctype="multipart/form-data">
    ${inputs(view, { values, problems }, [
      { name: 'name', label: a.name, help: a.nameHelp, charsMax: nameCharsMax, optional },
      { name: 'accentColour', label: a.accentColour, help: a.accentHelp, ...colour },
      { name: 'accentColourDark', label: a.accentColourDark, help: a.accentDarkHelp, ...colour },
      {
        name: 'logo',
        label: a.logo,
        help: a.logoHelp,
        type: 'file',
        more: html`accept=".png,.svg,image/png,image/svg+xml"`,
        optional,
      },
    ])}
    ${hasLogo && checkbox({ name: 'removeLogo', label: a.removeLogo })}
    <button type="submit" class="primary">${a.save}</button>
  </form>`
}

/** Length of a colour such as `#rrggbb`. */
const colourCharsMax = 7

type Branding = ResponseOf<'getCheckoutBranding'>

/** Maximum size of the form: a logo of 64 KiB and the other fields. */
const formBytesMax = 128 * 1024

const brandingValues = ({ name, accentColour, accentColourDark }: Branding): FieldValues => ({
  ...(name === undefined ? {} : { name }),
  ...(accentColour === undefined ? {} : { accentColour }),
  ...(accentColourDark === undefined ? {} : { accentColourDark }),
})

async function show(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  typed?: FormState,
): Promise<PublicAnswer> {
  const { view, partnerName } = person
  const current = await operate('getCheckoutBranding', callOf(person, request))
  const { accentColour: light, accentColourDark: dark } = current
  const shown = {
    ...(typed ?? { values: brandingValues(current), problems: {} }),
    hasLogo: current.logo !== undefined,
    shownName: current.name ?? partnerName,
    accents: themeAccents({ light, dark }),
    isSaved: typed === undefined && readCompletedForm(request, ['saved']) !== undefined,
    mayWrite: may(person, 'checkout:write'),
  }
  const status = typed === undefined ? 200 : 400
  return page(request, status, appearancePage(view, shown))
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
    const colours = { accentColour: colourProblem(a, error), accentColourDark: colourProblem(a, error) }
    const words = { ...colours, logo: a.logoWrong }
    const problems = refusalProblems(texts[person.view.language].payments, error, appearanceFields, words)
    const values = Object.fromEntries(appearanceFields.map((name) => [name, text(name)]))
    return show(frame, request, person, { values, problems })
  }
}

/**
 * Returns the error text of a refused colour. If the contrast is too low, it suggests the nearest colour that passes.
 */
function colourProblem(a: ConsoleTexts['appearance'], error: unknown): string {
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

export const appearanceRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withMoney, 'checkout/appearance')
  return [
    route('GET', '', 'checkout:read', show),
    { ...route('POST', '', 'checkout:write', save), bodyBytesMax: formBytesMax },
    route('GET', '/logo', 'checkout:read', showLogo),
  ]
}
