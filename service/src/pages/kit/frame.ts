/** The frame of every page of the console: skip link, sandbox band, top bar, navigation, main part. */
import { referenceCharsMax } from '@partner-payments/wire'
import type { PageBrand } from '../assets.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { type ConsoleLanguage, consoleTexts } from './language.ts'
import type { Texts } from './texts/en.ts'

export type RoleName = 'Admin' | 'Developer' | 'Operator'

/** Request data that a page needs. All links are relative, so that PUBLIC_URL may have a path. */
export type ConsoleView = {
  readonly language: ConsoleLanguage
  /** The locale of dates and times, such as `en-GB`. Absent: the language. */
  readonly locale?: string
  readonly t: Texts
  readonly sandbox: boolean
  /** Relative path from the page to `/console/`: empty or `../`. */
  readonly root: string
  readonly css: string
  readonly js: string
  /** The brand of the installation. */
  readonly brand: PageBrand
  /** Time zone of the reader. Absent on the first page of a browser: it shows UTC until the script changes the times. */
  readonly zone?: string
  /** The same page in the other languages. Absent: the page has no links to them. */
  readonly languageLinks?: readonly { readonly language: ConsoleLanguage; readonly href: string }[]
  /** The page that chooses the time zone. Absent: the page has no link to it. */
  readonly zoneLink?: string
  readonly person?: {
    readonly fullName: string
    readonly email: string
    /** A role of the team, or the text of a staff role. */
    readonly roleName: RoleName | Html
    readonly partnerName: string
  }
  /**
   * The support session in which the operator's staff views the console as the partner. A band on every page says so.
   */
  readonly support?: { readonly staff: string; readonly reason: string; readonly expiresAt: Date }
  /** Entries of the navigation. A page without a person has none. */
  readonly places?: readonly NavigationItem[]
  /** `name` of the entry that the page belongs to. */
  readonly current?: string
  /** The saved views of the list that the page shows. */
  readonly saved?: {
    readonly links: Html
    /** Names the open view, on a page whose filters were refused. */
    readonly invalid?: Html | undefined
  }
  /** True if the site has a search. */
  readonly hasSearch?: boolean
  /** The text that the person has searched for. */
  readonly found?: string
}

export type NavigationItem = {
  /** Path of its first page, relative to the root of the pages. */
  readonly name: string
  readonly text: string
  /** Path of an icon of 20 by 20 units, drawn with strokes. */
  readonly icon: string
  /** Heading of the group that the entry belongs to. Absent: the entry precedes the groups. */
  readonly group?: string
  /** True if guests see the entry. */
  readonly isForGuests?: boolean
  /** True if the entry is personal: staff who view the console as the partner do not see it. */
  readonly isPersonal?: boolean
  /** Number of items that the person has not read. Absent: none. */
  readonly count?: number
}

export type ConsolePage = {
  readonly title: string
  readonly main: Html
  /** True if the page uses the whole width, for a table. */
  readonly wide?: boolean
  /** The whole main part is one card. */
  readonly card?: boolean
  /** Refusals of a form. The page begins with them, and the title of the tab says so. */
  readonly problems?: Problems
}

/** Problems by the id of the field. `form`: a problem of the form as a whole. */
type Problems = Readonly<Record<string, string | Html | undefined>>

export function shell(view: ConsoleView, page: ConsolePage): string {
  const { language, t, root, css, js, sandbox, person, brand } = view
  const layout = person === undefined ? 'alone' : 'signed-in'
  const { html: text } = html`<!doctype html>
    <html lang="${language}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${tabTitle(view, page)}</title>
        <link rel="icon" href="data:," />
        <link rel="stylesheet" href="${root}assets/${css}" />
        ${brand.css !== undefined && html`<link rel="stylesheet" href="${root}assets/${brand.css}" />`}
        <script type="module" src="${root}assets/${js}"></script>
      </head>
      <body class="${layout}${page.wide === true && ' wide'}${sandbox && ' sandbox'}">
        <a class="skip" href="#main">${t.skip}</a>
        ${banner(view)} ${person !== undefined && navigation(view)}
        <main id="main" tabindex="-1">${hasErrors(page) && view.saved?.invalid} ${mainPart(view, page)}</main>
        ${languageNavigation(view)}
        <p id="live" class="away" role="status"></p>
      </body>
    </html> `
  return text
}

const hasErrors = ({ problems = {} }: ConsolePage): boolean =>
  Object.values(problems).some((text) => text !== undefined)

function mainPart(view: ConsoleView, page: ConsolePage): Html {
  const whole = html`${hasErrors(page) && errorSummary(view, page.problems)} ${page.main}`
  return page.card === true ? html`<div class="card">${whole}</div>` : whole
}

/** Lists the refusals of a form with links to the fields. Takes the focus, so that screen readers begin here. */
export function errorSummary({ t }: ConsoleView, problems: Problems = {}): Html {
  const items = Object.entries(problems)
    .filter(([, text]) => text !== undefined)
    .map(([id, text]) => html`<li>${id === 'form' ? text : html`<a href="#${id}">${text}</a>`}</li>`)
  return html`<div class="summary" role="alert" tabindex="-1" autofocus aria-labelledby="summary-title">
    <h2 id="summary-title">${t.errorTitle}</h2>
    <ul>
      ${items}
    </ul>
  </div>`
}

/** Returns the title of the tab, which begins with the sandbox label in a sandbox. */
function tabTitle({ t, sandbox, person, brand }: ConsoleView, page: ConsolePage): string {
  const first = hasErrors(page) ? `${t.errorPrefix}: ${page.title}` : page.title
  const whole = [first, person?.partnerName, brand.name].filter((part) => part !== undefined).join(' · ')
  return sandbox ? `${t.sandbox}: ${whole}` : whole
}

function banner(view: ConsoleView): Html | undefined {
  const { t, sandbox, person } = view
  const installation = brandLine(view)
  if (!sandbox && person === undefined && installation === undefined) return undefined
  return html`<header class="banner">
    ${sandbox && html`<p class="band">${t.sandboxBand}</p>`} ${supportBand(view)}
    ${person === undefined ? installation : topBar(view, person)}
  </header>`
}

/** Renders the brand of the installation on pages without a person. */
function brandLine({ root, brand: { name, logo } }: ConsoleView): Html | undefined {
  if (logo === undefined && name === undefined) return undefined
  return html`<p class="installation">${logo !== undefined && logoImage(root, logo)} ${name}</p>`
}

const logoImage = (root: string, logo: string): Html =>
  html`<img class="logo" src="${root}assets/${logo}" alt="" height="28" />`

/** Returns the path of the first navigation entry of a person. */
export const homePath = ({ places = [] }: ConsoleView): string =>
  places.some(({ name }) => name === 'home') ? 'home' : (places.at(-1)?.name ?? 'home')

function supportBand({ t, language, locale = language, zone = 'UTC', support }: ConsoleView): Html | undefined {
  if (support === undefined) return undefined
  const { staff, reason, expiresAt } = support
  const form = new Intl.DateTimeFormat(locale, {
    hour: '2-digit',
    minute: '2-digit',
    timeZone: zone,
    timeZoneName: 'short',
  })
  const time = form.format(expiresAt)
  return html`<p class="band support">${fill(t.supportBand, { staff, reason, time })}</p>`
}

function topBar(view: ConsoleView, person: NonNullable<ConsoleView['person']>): Html {
  const { t, root, sandbox, brand } = view
  const [initial = ''] = person.partnerName
  return html`<div class="top">
    <button type="button" class="menu" popovertarget="places">
      <svg viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path d="M3 5.5h14M3 10h14M3 14.5h14" /></svg>
      <span class="away">${t.menu}</span>
    </button>
    <a class="brand" href="${root}${homePath(view)}">
      ${
        brand.logo === undefined
          ? html`<span class="tile" aria-hidden="true">${initial.toLocaleUpperCase()}</span>`
          : logoImage(root, brand.logo)
      }
      <span class="brand-name">${person.partnerName}</span>
      <span class="environment">${sandbox ? t.sandbox : t.production}</span>
    </a>
    ${view.hasSearch === true && searchForm(view)}
    <div class="person">
      <p title="${person.email}">
        <span class="person-name">${person.fullName}</span>
        <span class="soft">${roleLabel(view, person.roleName)}</span>
      </p>
      <form method="post" action="${root}sign-out">
        <button type="submit" class="small">${view.support === undefined ? t.signOut : t.supportEnd}</button>
      </form>
    </div>
  </div>`
}

const searchForm = (view: ConsoleView): Html =>
  html`<form role="search" class="find" method="get" action="${view.root}find">
    <label class="away" for="find">${view.t.searchLabel}</label>
    <input
      type="search"
      id="find"
      name="q"
      value="${view.found ?? ''}"
      placeholder="${view.t.searchPlaceholder}"
      maxlength="${referenceCharsMax}"
      autocomplete="off"
    />
  </form>`

/**
 * Renders the links to the pages, in groups. A narrow page shows them as a popover, which the button of the top bar opens without a
 * script; a wide page shows them beside the main part.
 */
function navigation(view: ConsoleView): Html {
  const { t, places = [] } = view
  const groups = [...Map.groupBy(places, ({ group }) => group)]
  return html`<nav class="places" id="places" popover aria-label="${t.navigation}">
    ${groups.map(([group, members], at) =>
      group === undefined
        ? html`<ul>
            ${members.map((place) => placeItem(view, place))}
          </ul> `
        : html`<p id="places-${at}">${group}</p>
            <ul aria-labelledby="places-${at}">
              ${members.map((place) => placeItem(view, place))}
            </ul> `,
    )}
  </nav>`
}

const placeItem = ({ root, current, t }: ConsoleView, { name, text, icon, count }: NavigationItem): Html =>
  html`<li>
    <a href="${root}${name}" ${name === current && html` aria-current="page"`}>
      <svg viewBox="0 0 20 20" aria-hidden="true" focusable="false"><path d="${icon}" /></svg>
      ${text}
      ${count !== undefined && html`<span class="count">${count >= countMax ? `${countMax - 1}+` : count}<span class="away"> ${t.unread}</span></span>`}
    </a>
  </li> `

/** Counts from here on are shown as `99+`. */
const countMax = 100

function languageNavigation({ t, language, languageLinks = [], zone, zoneLink }: ConsoleView): Html | undefined {
  if (languageLinks.length === 0) return undefined
  const links = languageLinks.map(
    (link) =>
      html`<a
        lang="${link.language}"
        hreflang="${link.language}"
        href="${link.href}"
        ${link.language === language && html` aria-current="true"`}
        >${consoleTexts[link.language].languageName}</a
      > `,
  )
  const times = zoneLink !== undefined && html`<a href="${zoneLink}">${fill(t.timesIn, { zone: zone ?? 'UTC' })}</a>`
  return html`<nav class="languages" aria-label="${t.languages}">${links} ${times}</nav>`
}

/** Returns the text of a role. A staff role already has its text. */
export const roleLabel = (view: ConsoleView, roleName: RoleName | Html): Html | string =>
  typeof roleName === 'string' ? roleText(view, roleName) : roleName

export const roleText = ({ t }: ConsoleView, roleName: RoleName): string =>
  ({ Admin: t.roleAdmin, Developer: t.roleDeveloper, Operator: t.roleOperator })[roleName]

export type MessageAction = { readonly href: string; readonly label: string }

/** Renders an error page: refused, expired link, ended session, too many requests, or an internal error. */
export function consoleMessagePage(view: ConsoleView, title: string, text: string, action?: MessageAction): string {
  return shell(view, {
    title,
    card: true,
    main: html`<h1>${title}</h1>
      <p class="lead">${text}</p>
      ${
        action !== undefined &&
        html`<p class="buttons"><a class="button primary" href="${action.href}">${action.label}</a></p>`
      }`,
  })
}
