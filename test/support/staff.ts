/** Staff who have joined and signed in, so that commands act for them. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { StaffRole } from '../../service/src/people/staff/index.ts'
import type { JsonObject } from './client.ts'
import type { Service } from './composition.ts'
import { runOperator } from './operator.ts'
import type { Environment } from './program.ts'
import { codeOf, password, sendForm } from './team.ts'

export type { StaffRole }

/** A person who has joined by the verbs, with the options by which a command acts for the person. */
export async function joinedStaff(service: Service, folder: string, fullName: string, role: StaffRole) {
  const { staff, db, clock } = service
  const email = `${randomUUID()}@example.com`
  const { token } = await db.transaction((tx) => staff.invite(tx, { email, fullName, role }))
  const { totpSecret } = await staff.openInvitation(token)
  const factor = { kind: 'password', password, code: codeOf(totpSecret, clock.now().getTime()) } as const
  const opened = await staff.join(token, factor, { ip: '203.0.113.7', userAgent: 'Test browser' })
  const signed = await staff.signedIn(opened.token)
  assert.ok(signed)
  const asked = await staff.commands.request('test@host')
  await staff.commands.confirm(signed, asked.userCode)
  const file = join(folder, `${randomUUID()}.token`)
  await writeFile(file, asked.token, { mode: 0o600 })
  return { signed, file, as: ['--token-file', file] as const }
}

type Desk = { readonly opsUrl: string; readonly env: Environment; readonly folder: string }

/** A person who joins at the desk of a running service, and confirms there the code that `operator sign-in` prints. `by`: the options of an admin. */
export async function staffAtDesk(
  { opsUrl, env, folder }: Desk,
  { name, role, by = [] }: { readonly name: string; readonly role: StaffRole; readonly by?: readonly string[] },
) {
  const words = ['staff', 'invite', '--email', `${randomUUID()}@example.com`, '--name', name, '--role', role, ...by]
  const invited = await runOperator(words, env)
  assert.equal(invited.code, 0, invited.stderr)
  const { link } = JSON.parse(invited.stdout) as { readonly link: string }
  const token = new URL(link).searchParams.get('token') ?? ''
  const page = await (await fetch(new URL(`/desk/join?token=${token}`, opsUrl))).text()
  const secret = (/<code[^>]*id="secret"[^>]*>([A-Z2-7 ]+)</.exec(page)?.[1] ?? '').replaceAll(' ', '')
  const joined = await sendForm(new URL('/desk/join/password', opsUrl), { token, password, code: codeOf(secret) })
  assert.equal(joined.status, 200, await joined.text())
  const cookie = joined.headers.getSetCookie()[0]?.split(';', 1)[0] ?? ''
  const file = join(folder, `${randomUUID()}.token`)
  await confirmedSignIn({ opsUrl, env, cookie, file })
  return { cookie, file, as: ['--token-file', file] as const }
}

/** Runs `operator sign-in` and confirms its code with the session of a person. */
async function confirmedSignIn({ opsUrl, env, cookie, file }: Omit<Desk, 'folder'> & { cookie: string; file: string }) {
  const { runCommand } = await import('../../service/src/command.ts')
  let confirmed: Promise<Response> | undefined
  const write = async (text: string) => {
    const [, code] = /code ([A-Z]{4}-[A-Z]{4})/.exec(text) ?? []
    if (code !== undefined) confirmed = sendForm(new URL('/desk/device', opsUrl), { code }, { cookie })
  }
  await runCommand(['sign-in', '--token-file', file], write, env)
  assert.equal((await confirmed)?.status, 200)
}

type Acting = { readonly as: readonly string[] }

/** Runs a command whose result is a secret: proposed, approved by another person, and run by its author. Returns the JSON that it prints. */
export async function secretByTwo(
  operator: (...words: readonly string[]) => Promise<JsonObject>,
  [author, approver]: readonly [Acting, Acting],
  ...words: readonly string[]
): Promise<JsonObject> {
  const id = String((await operator(...words, ...author.as))['waits'])
  await operator('change', 'approve', '--id', id, ...approver.as)
  return operator('change', 'run', '--id', id, ...author.as)
}
