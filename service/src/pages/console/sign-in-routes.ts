/** Signing in and out. A refused sign-in does not say what was wrong. */
import type { PublicAnswer, PublicRequest, PublicRoute } from '../../kernel/api/index.ts'
import { partnerCookie, readCookie, sessionCookie } from '../../kernel/api/index.ts'
import type { SignedIn } from '../../people/users/index.ts'
import type { Client } from '../../people/sign-in/index.ts'
import {
  clientOf,
  browserOf,
  type Form,
  type Frame,
  nextOf,
  noSessionCookie,
  page,
  partnerCookieOf,
  readForm,
  seeOther,
  signedInCookies,
  uuid,
  viewOf,
} from './request.ts'
import { findPartnerPage, signInPage } from './sign-in-page.ts'
import { signOnError } from './single-sign-on.ts'

type Asked = { readonly partner: string; readonly next: string; readonly email?: string; readonly error?: string }

export function signInRoutes(frame: Frame): readonly PublicRoute[] {
  const ask = async (request: PublicRequest, { partner, ...asked }: Asked): Promise<PublicAnswer> => {
    const view = viewOf(frame, request)
    const passkeyOptions = await frame.signIn.passkeyOptions(partner)
    const sso = await frame.members.singleSignOn.isOn(partner)
    const body = signInPage(view, { ...asked, partner, passkeyOptions, sso })
    return page(request, asked.error === undefined ? 200 : 400, body, partnerCookieOf(partner))
  }
  const signIn = (
    way: 'passkey' | 'password',
    verify: (partner: string, form: Form, browser: Client) => Promise<SignedIn | undefined>,
  ): PublicRoute => ({
    method: 'POST',
    path: `/console/sign-in/${way}`,
    handle: async (request) => {
      const form = readForm(request)
      const partner = form('partner')
      const view = viewOf(frame, request)
      const browser = browserOf(request)
      const signed = uuid.test(partner)
        ? await verify(partner, form, browser).catch((error: unknown) => {
            const refused = signOnError(view, error)
            if (refused === undefined) throw error
            return refused
          })
        : undefined
      if (!uuid.test(partner)) return seeOther('../sign-in')
      const next = nextOf(form('next'))
      if (signed !== undefined && 'token' in signed)
        return seeOther(`../${next}`, ...signedInCookies(signed.token, browser))
      return ask(request, { partner, next, email: form('email'), error: signed?.form ?? view.t.signInRefused })
    },
  })
  return [
    {
      method: 'GET',
      path: '/console/sign-in',
      handle: (request) => {
        const query = new URLSearchParams(request.query)
        const partner = query.get('partner') ?? readCookie(request.headers['cookie'], partnerCookie) ?? ''
        if (!uuid.test(partner)) return page(request, 200, findPartnerPage(viewOf(frame, request), {}))
        return ask(request, { partner, next: nextOf(query.get('next') ?? undefined) })
      },
    },
    {
      method: 'POST',
      path: '/console/sign-in/find',
      handle: (request) => {
        // Not awaited: the time of the answer would say whether the address is known.
        frame.members
          .mailSignInLinks(readForm(request)('email'))
          .catch((err: unknown) => frame.log.warn({ err }, 'links to sign in were not mailed'))
        return page(request, 200, findPartnerPage(viewOf(frame, request), { sent: true }))
      },
    },
    signIn('passkey', (partner, form, browser) => frame.members.signInByPasskey(partner, form('credential'), browser)),
    signIn('password', (partner, form, browser) => {
      const given = { email: form('email'), password: form('password'), code: form('code') }
      return frame.members.signInByPassword(partner, given, browser)
    }),
    signOutRoute(frame),
  ]
}

const signOutRoute = (frame: Frame): PublicRoute => ({
  method: 'POST',
  path: '/console/sign-out',
  handle: async (request) => {
    const token = readCookie(request.headers['cookie'], sessionCookie)
    const signed = token === undefined ? undefined : await frame.members.signedIn(token)
    if (signed?.support) await frame.members.endSupport(signed.support, clientOf(request))
    else if (signed) await frame.signIn.end(signed.session.partnerId, signed.user.id, signed.session.id)
    const guest = token === undefined || signed ? undefined : await frame.guests.guest(token)
    if (guest) await frame.guests.leave(guest, request.ip)
    return seeOther('sign-in', noSessionCookie)
  },
})
