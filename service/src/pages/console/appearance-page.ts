/** How the payment pages of a partner look: name, colours and logo, with a picture of both themes. */
import { html, type Html } from '../html.ts'
import { field, message } from './components.ts'
import { type Problems, type Values } from './payments-request.ts'
import { appearanceTexts } from './texts/appearance.ts'
import { type ConsoleView, shell } from './view.ts'

export const appearanceFields: readonly string[] = ['name', 'accentColour', 'accentColourDark', 'logo']

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
  const a = appearanceTexts[view.language]
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
  const a = appearanceTexts[view.language]
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
  const a = appearanceTexts[view.language]
  const input = (name: string, label: string, help: string, more = html`autocomplete="off"`) =>
    field({
      ...{ id: name, name, label, help, value: values[name] ?? '', error: problems[name] },
      ...{ optional: true, more },
    })
  const colour = html`autocomplete="off" spellcheck="false" maxlength="7" placeholder="#2449c8"`
  const error = problems['logo']
  return html`<form class="card" method="post" action="${view.root}checkout/appearance" enctype="multipart/form-data">
    ${input('name', a.name, a.nameHelp, html`maxlength="140" autocomplete="off"`)}
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
