/** The choice of language and time zone: links in the footer, and a page. Cookies keep both, without a sign-in. */
import type { PublicAnswer, PublicRequest, PublicRoute } from '../../kernel/api/index.ts'
import { html } from '../html.ts'
import { hiddenField, select } from './forms.ts'
import { type ConsoleView, shell } from './frame.ts'
import {
  consoleLanguages,
  consoleTexts,
  isLanguage,
  isZone,
  languageCookie,
  type ReaderPreferences,
  readReaderPreferences,
  zoneCookie,
} from './language.ts'
import { cookieAttributes, safeNextPath, page, readForm, seeOther, yearSeconds } from './request.ts'

type Site = {
  readonly root: 'console' | 'desk'
  readonly viewOf: (request: PublicRequest) => ConsoleView
  /** Reports whether a path below the root is a page. The address of a form may not be one. */
  readonly isPage: (path: string) => boolean
}

const cookie = (name: string, value: string): string =>
  `${name}=${encodeURIComponent(value)}; ${cookieAttributes}; Max-Age=${value === '' ? 0 : yearSeconds}`

/** Reads the reader's choices and the links of the footer, for the view of a page. */
export function readPreferences(
  request: PublicRequest,
  root: string,
): ReaderPreferences & Pick<ConsoleView, 't' | 'languageLinks' | 'zoneLink'> {
  const reader = readReaderPreferences(request)
  const [, , ...parts] = request.path.split('/')
  const here = parts.join('/') + (request.query === '' ? '' : `?${request.query}`)
  const next = encodeURIComponent(safeNextPath(here))
  return {
    ...reader,
    t: consoleTexts[reader.language],
    languageLinks: consoleLanguages.map((language) => ({ language, href: `${root}language/${language}?next=${next}` })),
    zoneLink: `${root}time-zone?next=${next}`,
  }
}

/** Returns the page to go back to. For the address of a sent form, this is the nearest page above it. */
function backPath({ isPage }: Site, next: string): string {
  const parts = safeNextPath(next).split('?', 1)[0]?.split('/') ?? []
  const above = parts.map((_part, at) => parts.slice(0, parts.length - at).join('/'))
  return isPage(above[0] ?? '') ? safeNextPath(next) : (above.find(isPage) ?? 'home')
}

const readNext = ({ query }: PublicRequest): string => new URLSearchParams(query).get('next') ?? ''

export const preferenceRoutes = (site: Site): readonly PublicRoute[] => [
  {
    method: 'GET',
    path: `/${site.root}/language/{language}`,
    handle: (request): PublicAnswer => {
      const { language = '' } = request.params
      const back = `../${backPath(site, readNext(request))}`
      return isLanguage(language) ? seeOther(back, cookie(languageCookie, language)) : seeOther(back)
    },
  },
  {
    method: 'GET',
    path: `/${site.root}/time-zone`,
    handle: (request) =>
      page(
        request,
        200,
        zonePage(site.viewOf(request), readReaderPreferences(request), backPath(site, readNext(request))),
      ),
  },
  {
    method: 'POST',
    path: `/${site.root}/time-zone`,
    handle: (request) => {
      const form = readForm(request)
      const zone = form('zone')
      return seeOther(backPath(site, form('next')), cookie(zoneCookie, isZone(zone) ? zone : ''))
    },
  },
]

function zonePage(view: ConsoleView, { chosenZone = '' }: ReaderPreferences, back: string): string {
  const { title, text, label, asBrowser, save } = view.t.timeZone
  const zones = ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')]
  return shell(view, {
    title,
    card: true,
    main: html`<h1>${title}</h1>
      <p class="lead">${text}</p>
      <form method="post" action="${view.root}time-zone">
        ${hiddenField('next', back)}
        ${select({
          id: 'zone',
          name: 'zone',
          label,
          value: chosenZone,
          any: asBrowser,
          options: zones.map((zone) => [zone, zone.replaceAll('_', ' ')] as const),
        })}
        <button type="submit" class="primary">${save}</button>
      </form>
      <p class="foot"><a href="${view.root}${back}">${view.t.cancel}</a></p>`,
  })
}
