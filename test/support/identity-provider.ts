/** A certified provider of OpenID Connect (`oidc-provider`) on loopback, and a browser without scripts that signs people in there. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import type { Page } from 'playwright-core'

/** The claims of a person, by the name that is typed at the provider. */
export type People = Map<string, Record<string, unknown>>

export type IdentityProvider = Awaited<ReturnType<typeof startIdentityProvider>>

export const providerClient = { clientId: 'partner-payments', clientSecret: 'a secret of the client, of 32 bytes' }

/** `redirectUris`: where it may lead browsers back to. Empty: `allow` says so later, when the ports of a service are known. */
export async function startIdentityProvider(redirectUris: readonly string[] = []) {
  const people: People = new Map()
  const asked: string[] = []
  let handle: ReturnType<Provider['callback']> | undefined
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url?.split('?')[0]}`)
    void handle?.(request, response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const allowed: string[] = []
  const allow = (uris: readonly string[]) => {
    allowed.push(...uris)
    handle = createProvider(issuer, people, allowed).callback()
  }
  if (redirectUris.length > 0) allow(redirectUris)
  return {
    issuer,
    people,
    /** Allows further redirect URIs. People sign in again at the provider. */
    allow,
    /** The requests, by method and path. */
    asked: asked as readonly string[],
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections()
        server.close(() => resolve())
      }),
  }
}

function createProvider(issuer: string, people: People, redirectUris: readonly string[]): Provider {
  const { clientId: client_id, clientSecret: client_secret } = providerClient
  const provider = new Provider(issuer, {
    clients: [{ client_id, client_secret, redirect_uris: [...redirectUris] }],
    claims: { email: ['email', 'email_verified'], profile: ['name', 'groups'] },
    cookies: { keys: ['a key of the cookies'] },
    findAccount: (_context, id) => {
      const claims = people.get(id)
      return claims && { accountId: id, claims: () => ({ sub: id, ...claims }) }
    },
    // No person is asked for consent, as usual for applications of one's own organisation.
    loadExistingGrant: async ({ oidc }) => {
      const [clientId, accountId] = [oidc.client?.clientId ?? '', oidc.session?.accountId ?? '']
      const grant = new oidc.provider.Grant({ clientId, accountId })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  })
  provider.on('server_error', (_context, error) => assert.fail(error))
  return provider
}

/** A browser at the provider. It keeps its cookies, so that it is signed in there. */
export function createProviderBrowser() {
  const jar = new Map<string, string>()
  const send = async (url: string, form?: Readonly<Record<string, string>>) => {
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const body = form && new URLSearchParams(form)
    const answer = await fetch(url, {
      redirect: 'manual',
      headers: { cookie },
      ...(body ? { method: 'POST', body } : {}),
    })
    for (const each of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(each) ?? []
      jar.set(name, value)
    }
    return answer
  }
  return {
    /** Signs a person in and returns where the provider leads the browser. `cancel`: the person goes back instead. */
    follow: async (url: string, login: string, { cancel = false } = {}): Promise<URL> => {
      const { origin } = new URL(url)
      let at = url
      for (let steps = 0; steps < 12; steps += 1) {
        const answer = await send(at)
        const location = answer.headers.get('location')
        if (location !== null) {
          const next = new URL(location, at)
          if (next.origin !== origin) return next
          at = next.href
        } else {
          const page = await answer.text()
          assert.equal(answer.status, 200, page)
          if (cancel) at = new URL(/href="([^"]*\/abort)"/.exec(page)?.[1] ?? '', at).href
          else {
            const action = /<form[^>]*action="([^"]+)"/.exec(page)?.[1] ?? ''
            const answered = await send(new URL(action, at).href, { prompt: 'login', login, password: 'any' })
            at = new URL(answered.headers.get('location') ?? assert.fail(await answered.text()), at).href
          }
        }
      }
      return assert.fail(`the provider leads nowhere: ${at}`)
    },
  }
}

/** A person signs in at the provider in a real browser. */
export async function signInAtProvider(page: Page, login: string): Promise<void> {
  await page.locator('input[name=login]').fill(login)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
}
