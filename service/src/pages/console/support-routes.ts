/** The entrance of staff of the operator: a link alone opens nothing, and its code works once. */
import { type PublicRoute, readCookie, sessionCookie } from '../../kernel/api/index.ts'
import { html } from '../html.ts'
import { hiddenField } from './components.ts'
import { consoleMessage } from './message-page.ts'
import { clientOf, type Frame, page, readForm, seeOther, sessionCookieOf, viewOf } from './request.ts'
import { supportTexts } from './texts/support.ts'
import { type ConsoleView, shell } from './view.ts'

export function enterSupportPage(view: ConsoleView, code: string): string {
  const s = supportTexts[view.language]
  return shell(view, {
    title: s.title,
    card: true,
    main: html`<h1>${s.title}</h1>
      <p class="lead">${s.text}</p>
      <form method="post" action="${view.root}support">
        ${hiddenField('code', code)}
        <button type="submit" class="primary">${s.open}</button>
      </form>`,
  })
}

/**
 * Refuses each form in a support session. Operations refuse their writes themselves, but some forms are none: factors, sessions,
 * recoveries.
 */
export const refusingSupport = (frame: Frame, routes: readonly PublicRoute[]): readonly PublicRoute[] =>
  routes.map((route) =>
    route.method === 'GET'
      ? route
      : {
          ...route,
          handle: async (request) => {
            const token = readCookie(request.headers['cookie'], sessionCookie)
            if (token === undefined || !(await frame.members.isSupport(token))) return route.handle(request)
            const view = viewOf(frame, request)
            const s = supportTexts[view.language]
            const action = { href: `${view.root}home`, label: s.back }
            return page(request, 403, consoleMessage(view, s.readOnly, s.readOnlyText, action))
          },
        },
  )

export const supportRoutes = (frame: Frame): readonly PublicRoute[] => [
  {
    method: 'GET',
    path: '/console/support',
    handle: (request) => {
      const code = new URLSearchParams(request.query).get('code') ?? ''
      return page(request, 200, enterSupportPage(viewOf(frame, request), code))
    },
  },
  {
    method: 'POST',
    path: '/console/support',
    handle: async (request) => {
      const token = await frame.members.openSupport(readForm(request)('code'), clientOf(request))
      return seeOther('home', sessionCookieOf(token))
    },
  },
]
