/** The routes by which staff sign in, join and connect their accounts at the provider of the installation. */
import {
  type PublicAnswer,
  type PublicRequest,
  type PublicRoute,
  readCookie,
  staffCookie,
} from '../../kernel/api/index.ts'
import type { SignedStaff } from '../../people/staff/index.ts'
import { isRecentSignIn } from '../../people/sign-in/index.ts'
import { browserOf, deviceCookieOf, page, seeOther } from '../kit/request.ts'
import { attemptOf, failedPage, leadsOn, onToProvider, toProvider } from '../console/sign-in.ts'
import { texts } from '../console/texts/index.ts'
import { consoleMessage } from '../kit/frame.ts'
import { type DeskFrame, staffCookieOf, staffRoute, viewOf } from './request.ts'

export function ssoRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { staff, clock } = frame
  const { singleSignOn } = staff
  const tried = async (request: PublicRequest, work: () => Promise<PublicAnswer>): Promise<PublicAnswer> => {
    try {
      return await work()
    } catch (error) {
      return failedPage(request, viewOf(frame, request), error)
    }
  }
  return [
    {
      method: 'GET',
      path: '/desk/sign-in/sso',
      callsChosenHost: true,
      handle: (request) => tried(request, async () => toProvider(await singleSignOn.begin({ kind: 'sign in' }))),
    },
    {
      method: 'GET',
      path: '/desk/join/sso',
      callsChosenHost: true,
      handle: (request) => {
        const token = new URLSearchParams(request.query).get('token') ?? ''
        return tried(request, async () => toProvider(await singleSignOn.begin({ kind: 'join', token })))
      },
    },
    {
      ...staffRoute(frame, 'device', 'POST', '/sso/connect', (request, { signed, view }) => {
        if (!isRecentSignIn(signed.session.createdAt, clock.now())) return seeOther('../sign-in')
        const begin = () => singleSignOn.begin({ kind: 'connect', signed })
        return tried(request, async () => onToProvider(request, view, await begin()))
      }),
      callsChosenHost: true,
    },
    {
      method: 'GET',
      path: '/desk/sso',
      handle: (request) => leadsOn(request, viewOf(frame, request), `sso/finish?${request.query}`),
    },
    {
      method: 'GET',
      path: '/desk/sso/finish',
      callsChosenHost: true,
      handle: (request) =>
        tried(request, async () => {
          const given = { attempt: attemptOf(request), query: request.query, signed: await signedIn(frame, request) }
          const browser = browserOf(request)
          const { kind, token } = await singleSignOn.finish(given, browser)
          if (token !== undefined) return seeOther('../queue', staffCookieOf(token), deviceCookieOf(browser.device))
          const view = viewOf(frame, request)
          const s = texts[view.language].signOn
          return kind === 'connect'
            ? page(request, 200, consoleMessage(view, s.connectedNow, s.text, { href: '../device', label: s.leadsOn }))
            : seeOther('../sign-in')
        }),
    },
  ]
}

async function signedIn({ staff }: DeskFrame, { headers }: PublicRequest): Promise<SignedStaff | undefined> {
  const token = readCookie(headers['cookie'], staffCookie)
  return token === undefined ? undefined : staff.signedIn(token)
}
