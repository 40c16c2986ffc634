/**
 * The operator's staff where one person alone changes nothing, as in production: two persons join at the desk and sign in for commands. Each
 * command acts for the one that it names, and the other approves what waits.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { Secret, TOTP } from 'otpauth'
import { present } from './chapters/stage.ts'
import type { Service } from './service.ts'

/** The persons in `--staff`. Without a sign-in, in a sandbox with its own defaults, the names are only written down. */
export const sam = 'Sam Staff'
export const grace = 'Grace Staff'

const password = 'meadow-lamp-42-river'

type Operator = Service['operator']

/** The service whose operator commands are run by signed-in persons. They join with the first command. */
export function withStaff(service: Service): Service {
  let joined: Promise<Operator> | undefined
  return { ...service, operator: async (...words) => (await (joined ??= operatorOfTwo(service)))(...words) }
}

async function operatorOfTwo(service: Service): Promise<Operator> {
  const first = await personAtDesk(service, sam)
  const second = await personAtDesk(service, grace, first)
  return async (...words) => {
    const at = words.indexOf('--staff')
    const named = at === -1 ? sam : words[at + 1]
    const own = at === -1 ? words : words.toSpliced(at, 2)
    const [author, other] = named === grace ? [second, first] : [first, second]
    const printed = (await author(...own)) as { readonly waits?: string } | null
    const id = printed?.waits
    if (id === undefined) return printed
    const done = (await other('change', 'approve', '--id', id)) as {
      readonly approved?: string
    }
    // A secret is printed for its author only.
    return done.approved === undefined ? done : author('change', 'run', '--id', id)
  }
}

/** Invites a person, who joins at the desk with a password and an authenticator app, and signs in for commands. */
async function personAtDesk(service: Service, name: string, invite = service.operator): Promise<Operator> {
  const email = `${name.toLowerCase().replace(' ', '.')}@example.com`
  const invitation = ['--email', email, '--name', name, '--role', 'admin'] as const
  const { link } = (await invite('staff', 'invite', ...invitation)) as { readonly link: string }
  const token = new URL(link).searchParams.get('token') ?? ''
  const page = await (await fetch(new URL(`/desk/join?token=${token}`, service.opsUrl))).text()
  const [, shown] = /<code[^>]*id="secret"[^>]*>([A-Z2-7 ]+)</.exec(page) ?? []
  const secret = Secret.fromBase32(present(shown, 'the secret of the authenticator app').replaceAll(' ', ''))
  const answer = await send(service, '/desk/join/password', { token, password, code: new TOTP({ secret }).generate() })
  const cookie = present(answer.headers.getSetCookie()[0]?.split(';', 1)[0], `the session of ${name}`)
  const home = join(service.dataDir, 'staff', email)
  await mkdir(home, { recursive: true })
  const { run, begin } = service.operatorOf(home)
  await signIn(service, begin('sign-in'), cookie)
  return run
}

/** Confirms at the desk the code that `operator sign-in` prints. */
async function signIn(service: Service, child: ChildProcess, cookie: string): Promise<void> {
  const ended = once(child, 'exit')
  let out = ''
  let confirmed: Promise<Response> | undefined
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out += text
    const [, code] = /code ([A-Z]{4}-[A-Z]{4})/.exec(out) ?? []
    if (code !== undefined) confirmed ??= send(service, '/desk/device', { code }, { cookie })
  })
  const [exitCode] = (await ended) as [number | null]
  const status = (await confirmed)?.status
  if (exitCode !== 0 || status !== 200)
    throw new Error(`the sign-in ended with ${exitCode}, and the desk answered ${status}`)
}

const send = (
  { opsUrl }: Service,
  path: string,
  fields: Readonly<Record<string, string>>,
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  fetch(new URL(path, opsUrl), {
    method: 'POST',
    body: new URLSearchParams(fields),
    redirect: 'manual',
    headers: { 'sec-fetch-site': 'same-origin', ...headers },
  })
