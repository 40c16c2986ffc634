/** People who join a partner's team by the pages of the service, as a browser without scripts does. */
import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import { until } from './until.ts'

/** Service of a test that reads its mails and calls it. */
export type Team = { readonly baseUrl: string; readonly dataDir: string }

export const password = 'meadow-lamp-42-river'

/** The mails of the sandbox mailbox, oldest first. */
export async function mailsIn({ dataDir }: Pick<Team, 'dataDir'>, address = ''): Promise<readonly string[]> {
  const folder = join(dataDir, 'mailbox')
  const names = (await readdir(folder).catch(() => [])).filter(
    (name) => name.endsWith('.eml') && name.includes(address),
  )
  return Promise.all(names.toSorted().map((name) => readFile(join(folder, name), 'utf8')))
}

/** Path and query of the newest link that was mailed to an address. */
export async function mailedPath({ dataDir }: Team, address: string): Promise<string> {
  const link = await until(`a mail to ${address}`, async () =>
    (await mailsIn({ dataDir }, address))
      .map((mail) => /X-Invitation-Link: (\S+)/.exec(mail.replaceAll('=\n', ''))?.[1])
      .at(-1),
  )
  const { pathname, search } = new URL(link)
  return pathname + search
}

/** The code that an authenticator app shows. */
export const codeOf = (secret: string, at = Date.now()): string =>
  new TOTP({ algorithm: 'SHA1', digits: 6, period: 30, secret: Secret.fromBase32(secret) }).generate({ timestamp: at })

export const sendForm = (url: URL, fields: Readonly<Record<string, string>>, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    body: new URLSearchParams(fields),
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin', ...headers },
  })

/** The cookie of the session that an answer opens. */
export const sessionOf = (answer: Response): string => {
  const [cookie] = answer.headers.getSetCookie().filter((each) => each.startsWith('__Host-session='))
  return cookie?.split(';', 1)[0] ?? ''
}

/** The person with an invitation joins with a password and an authenticator app. */
export async function joinByPassword(team: Team, address: string) {
  const path = await mailedPath(team, address)
  return joinByToken(team.baseUrl, new URLSearchParams(path.split('?')[1]).get('token') ?? '')
}

/** Joins with the token that the link of an invitation has. */
export async function joinByToken(baseUrl: string, token: string) {
  const page = await (await fetch(new URL(`/console/join?token=${token}`, baseUrl))).text()
  const secret = (/<code[^>]*id="secret"[^>]*>([A-Z2-7 ]+)</.exec(page)?.[1] ?? '').replaceAll(' ', '')
  const answer = await sendForm(new URL('/console/join/password', baseUrl), { token, password, code: codeOf(secret) })
  const text = await answer.text()
  assert.equal(answer.status, 200, text)
  const recoveryCodes = [...text.matchAll(/\b[a-z2-9]{4}(?:-[a-z2-9]{4}){3}\b/g)].map(([code]) => code)
  return { cookie: sessionOf(answer), secret, token, recoveryCodes: [...new Set(recoveryCodes)] }
}
