/** Staff, and the mails to them. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { addPartner } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { hourMs, newId, secondMs } from '../../kernel/index.ts'
import type { StaffRole } from './rules.ts'
import { mailServer, readMail } from '../../../../test/support/mail-server.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { smtpTransport } from '../../mail/index.ts'
import { sql } from '../../postgres/index.ts'
import { renderStaffMail } from './entrances.ts'

const service = await useModules({ now: new Date('2026-11-24T08:00:00Z') })

suite('staff', () => {
  const client = { ip: '203.0.113.7', userAgent: 'Test browser' }
  let count = 0
  const personOf = (role: StaffRole) => {
    count += 1
    return { email: `staff${count}@example.com`, fullName: `Staff Number ${count}`, role }
  }
  const invite = (person: ReturnType<typeof personOf>) =>
    service.db.transaction((tx) => service.staff.invite(tx, person))
  const remove = (id: string) => service.db.transaction((tx) => service.staff.remove(tx, id))

  /** Accepts an invitation with a password. */
  async function factorOf(token: string) {
    const { totpSecret } = await service.staff.openInvitation(token)
    return { kind: 'password', password, code: codeOf(totpSecret, service.clock.now().getTime()) } as const
  }

  async function join(role: StaffRole) {
    const { token } = await invite(personOf(role))
    const opened = await service.staff.join(token, await factorOf(token), client)
    const signed = await service.staff.signedIn(opened.token)
    assert.ok(signed)
    return { ...signed, token: opened.token }
  }

  async function openCase() {
    const { partnerId } = await addPartner(service)
    const id = newId()
    const booked = { currency: 'EUR', amount: 1234n } as const
    const named = { connector: 'sandbox', notificationId: newId(), subject: id, report: {} }
    assert.equal(await service.cases.open({ id, partnerId, kind: 'unknown_payment', ...named, booked }), true)
    return { partnerId, id }
  }

  test('an invitation link works once, even if it is used twice at the same time, and not after 24 hours', async () => {
    const { token } = await invite(personOf('support'))
    const factor = await factorOf(token)
    const answers = await Promise.allSettled([1, 2].map(() => service.staff.join(token, factor, client)))
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    await assert.rejects(service.staff.openInvitation(token), { code: 'not_found' })
    const late = await invite(personOf('support'))
    service.clock.advance(24 * hourMs)
    await assert.rejects(service.staff.openInvitation(late.token), { code: 'not_found' })
    for (const bad of ['', 'x', `${token}A`])
      await assert.rejects(service.staff.openInvitation(bad), { code: 'not_found' })
  })

  test('an invitation with a taken or invalid address or name is refused', async () => {
    const { account } = await join('finance')
    const other = personOf('admin')
    for (const wrong of [
      { ...other, email: account.email.toUpperCase() },
      { ...other, fullName: ` ${account.fullName.toUpperCase()}` },
      { ...other, email: 'no address' },
      { ...other, fullName: ' ' },
    ])
      await assert.rejects(invite(wrong), { code: 'validation_failed' }, JSON.stringify(wrong))
  })

  test('two people decide a case, only one of two concurrent approvals counts, and the audit log names the accounts', async () => {
    const [one, two, three] = [await join('finance'), await join('admin'), await join('finance')]
    const { partnerId, id } = await openCase()
    const key = { partnerId, id }
    await service.staff.propose(one, { ...key, action: 'fees', note: 'Charge of the bank' })
    await assert.rejects(service.staff.approve(one, key), /another person must approve/)
    const answers = await Promise.allSettled([service.staff.approve(two, key), service.staff.approve(three, key)])
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
    const found = await service.cases.byId(service.db, partnerId, id)
    assert.equal(found?.resolution, 'booked_to_fees')
    const { data } = await service.audit.list(partnerId, {})
    const acts = data.filter(({ action }) => action.startsWith('operator case'))
    assert.deepEqual(new Set(acts.map(({ actor }) => actor.id)).size, 2)
    assert.ok(acts.some(({ actor }) => actor.id === one.account.id && actor.name === one.account.fullName))
  })

  test("a decision about an alert or a held payment is only in the operator's log", async () => {
    const person = await join('compliance')
    for (const kind of ['monitoring_alert', 'sanctions_hold'] as const) {
      const { partnerId } = await addPartner(service)
      const id = newId()
      const named = { connector: 'ledger', notificationId: newId(), subject: id, report: {} }
      await service.cases.open({ id, partnerId, kind, ...named, booked: null })
      const action = kind === 'sanctions_hold' ? 'refuse' : 'release'
      const found = action === 'release' ? ({ disposition: 'suspicious_reported' } as const) : {}
      await service.staff.propose(person, { partnerId, id, action, ...found, note: 'Reported' })
      assert.deepEqual((await service.audit.list(partnerId, {})).data, [])
      const kept = (await service.audit.list(operatorPartnerId, {})).data.find(({ subject }) => subject.id === id)
      assert.deepEqual([kept?.action, kept?.subject['partnerId']], ['operator case propose', partnerId])
    }
  })

  test('support can only read, and a removed account loses its session and cannot decide', async () => {
    const [reader, decider] = [await join('support'), await join('finance')]
    const key = await openCase()
    const proposal = { ...key, action: 'fees', note: 'Charge of the bank' } as const
    await assert.rejects(service.staff.propose(reader, proposal), { code: 'permission_denied' })
    await remove(decider.account.id)
    assert.equal(await service.staff.signedIn(decider.token), undefined)
    await assert.rejects(service.staff.propose(decider, proposal), { code: 'permission_denied' })
    await assert.rejects(remove(decider.account.id), { code: 'not_found' })
  })

  test('one of two concurrent removals of the last two admins is refused', async () => {
    const admins = (await service.staff.list(service.db)).filter(({ role }) => role === 'admin')
    for (const { id } of admins.slice(1)) await remove(id)
    const [first] = admins
    const second = await join('admin')
    assert.ok(first)
    const answers = await Promise.allSettled([remove(first.id), remove(second.account.id)])
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), ['fulfilled', 'rejected'])
  })

  test("a person can sign in at the desk with a password, and the session does not open a partner's console", async () => {
    const person = personOf('finance')
    const { token } = await invite(person)
    const { totpSecret } = await service.staff.openInvitation(token)
    const opened = await service.staff.join(token, await factorOf(token), client)
    service.clock.advance(30 * secondMs)
    const given = { email: person.email, password, code: codeOf(totpSecret, service.clock.now().getTime()) }
    assert.equal(await service.staff.signInByPassword({ ...given, password: `${password}x` }, client), undefined)
    assert.ok(await service.staff.signInByPassword(given, client))
    assert.equal(await service.members.signedIn(opened.token), undefined)
  })

  test("a search is recorded in the operator's log with the person but without the text, and refused for a removed account", async () => {
    const [person] = [await join('support'), await join('admin')]
    const found = { by: 'text', payouts: [`${newId()}/${newId()}`], customers: [], payees: [], deposits: [] } as const
    await service.staff.recordSearch(person, found)
    const records = async () =>
      (await service.audit.list(operatorPartnerId, {})).data.filter(
        ({ action, actor }) => action === 'staff find' && actor.id === person.account.id,
      )
    const [record] = await records()
    assert.deepEqual(record?.details, found)
    assert.deepEqual(record?.subject, { staffId: person.account.id })
    await remove(person.account.id)
    await assert.rejects(service.staff.recordSearch(person, found), { code: 'permission_denied' })
    assert.equal((await records()).length, 1)
  })

  test("opening a bank file is recorded in the operator's log, and refused for a removed account", async () => {
    const [person] = [await join('support'), await join('admin')]
    const opened = { connector: 'iso20022', fileId: newId(), payments: [`${newId()}/${newId()}`] }
    await service.staff.recordFile(person, opened)
    const { data } = await service.audit.list(operatorPartnerId, {})
    const [record] = data.filter(({ action, actor }) => action === 'staff file' && actor.id === person.account.id)
    assert.deepEqual(record?.details, opened)
    await remove(person.account.id)
    await assert.rejects(service.staff.recordFile(person, opened), { code: 'permission_denied' })
  })
})

suite('mails', () => {
  const browser = () => ({ ip: '203.0.113.7', userAgent: 'Firefox/145.0 Windows NT', device: newId() })

  /** Lets a person join from a device with a password. */
  async function join(from: ReturnType<typeof browser>) {
    const { staff, db, clock } = service
    const person = { email: `${newId()}@example.com`, fullName: `Joan ${newId()}`, role: 'support' } as const
    const { token } = await db.transaction((tx) => staff.invite(tx, person))
    const { totpSecret } = await staff.openInvitation(token)
    const code = () => codeOf(totpSecret, clock.now().getTime())
    const { token: session, recoveryCodes } = await staff.join(
      token,
      { kind: 'password', password, code: code() },
      from,
    )
    const id = (await staff.signedIn(session))?.account.id ?? ''
    const signIn = (client: ReturnType<typeof browser>, given: { code?: string; password?: string } = {}) => {
      clock.advance(30 * secondMs)
      return staff.signInByPassword({ email: person.email, password, code: code(), ...given }, client)
    }
    return { ...person, id, recoveryCodes, signIn }
  }

  const mailsTo = (email: string) =>
    service.db.rows<{ readonly change: string; readonly data: string; readonly toName: string }>(sql`
    select data->>'change' as change, data::text as data, to_name from mail.messages
    where partner_id = ${operatorPartnerId} and to_address = ${email} order by id`)
  const changesTo = async (email: string) => (await mailsTo(email)).map(({ change }) => change)

  test('a sign-in from a new device is mailed exactly once; joining and refused sign-ins are not mailed', async () => {
    const [own, other] = [browser(), browser()]
    const { email, signIn } = await join(own)
    assert.ok(await signIn(own))
    assert.equal(await signIn(other, { password: 'wrong' }), undefined)
    assert.deepEqual(await changesTo(email), [])
    assert.ok(await signIn(other))
    assert.ok(await signIn(other))
    assert.deepEqual(await changesTo(email), ['new device'])
  })

  test('a used recovery code and the fifth failure are mailed', async () => {
    const own = browser()
    const { email, signIn, recoveryCodes } = await join(own)
    assert.ok(await signIn(own, { code: recoveryCodes[0] ?? '' }))
    assert.deepEqual(await changesTo(email), ['recovery code used'])
    for (let failure = 0; failure < 6; failure += 1) await signIn(own, { password: 'wrong' })
    assert.deepEqual(await changesTo(email), ['recovery code used', 'password blocked'])
  })

  test('a change of role, the end of sessions and a removal are mailed, unless the change is rolled back', async () => {
    const { email, id } = await join(browser())
    const { staff, db } = service
    await db.transaction((tx) => staff.setRole(tx, id, 'support'))
    await assert.rejects(
      db.transaction(async (tx) => {
        await staff.setRole(tx, id, 'finance')
        throw new Error('rolled back')
      }),
    )
    assert.deepEqual(await changesTo(email), [])
    await db.transaction((tx) => staff.setRole(tx, id, 'finance'))
    await db.transaction((tx) => staff.endSessions(tx, id))
    await db.transaction((tx) => staff.remove(tx, id))
    assert.deepEqual(await changesTo(email), ['role changed', 'sessions ended', 'removed'])
  })

  test('the mail arrives by SMTP with the device, but without the text of the user agent', async () => {
    const { email, signIn } = await join(browser())
    assert.ok(await signIn({ ...browser(), userAgent: 'Chrome/1 https://evil.example Android' }))
    const [row] = await mailsTo(email)
    assert.ok(row)
    const server = await mailServer()
    try {
      const data = JSON.parse(row.data) as Record<string, string>
      const mail = {
        kind: 'staff_account',
        expiresAt: null,
        createdAt: service.clock.now(),
        partnerName: '',
        secret: null,
      }
      const content = renderStaffMail({ ...mail, toName: 'Joan\r\nBcc: x@evil.example', data })
      const from = { name: 'ACME', address: 'no-reply@example.com' }
      const to = { name: row.toName, address: email }
      const message = { messageId: `<${newId()}@example.com>`, date: service.clock.now(), from, to, ...content }
      await smtpTransport(server.url).send(message)
      const received = readMail(server.received[0]?.source ?? '')
      assert.match(received.one('Subject'), /^Your account at .* desk: new device$/)
      assert.match(received.text, /Device: Chrome on Android\. IP address: 203\.0\.113\.7\./)
      assert.ok(!received.text.includes('https://evil.example'))
      assert.ok(!received.text.includes('\nBcc:'))
    } finally {
      await server.stop()
    }
  })
})
