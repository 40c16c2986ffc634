/** Recoveries of a sign-in over HTTP and SMTP, without a browser. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLog, present } from '../../service/src/kernel/index.ts'
import { createDatabase, sql } from '../../service/src/postgres/index.ts'
import { untilEnd, useService } from '../support/fixture.ts'
import { mailServer, readMail } from '../support/mail-server.ts'
import { staffAtDesk } from '../support/staff.ts'
import { joinByToken, sendForm } from '../support/team.ts'
import { until } from '../support/until.ts'
import { inviteTo } from '../support/console.ts'

const mails = untilEnd(await mailServer())
const service = await useService({ env: { SMTP_URL: mails.url } })
const { partnerId } = service.credentials

/** The text of the newest mail to an address whose subject has these words. */
const mailTo = (address: string, subject: string) =>
  until(`a mail "${subject}" to ${address}`, () => {
    const texts = mails.received.filter(({ to }) => to.includes(address)).map(({ source }) => readMail(source))
    return texts.findLast(({ one }) => one('Subject').includes(subject))?.text
  })
const tokenIn = (text: string) => present(/token=([\w-]+)/.exec(text)?.[1], 'the mail has a link')
const statusOf = async (path: string) => (await fetch(new URL(path, service.baseUrl))).status

test('an Admin is notified of a recovery, gets its link by SMTP, and can cancel it, and each link needs a click', async () => {
  const address = await inviteTo(service, 'Admin', 'Joan Locked')
  await joinByToken(service.baseUrl, tokenIn(await mailTo(address, 'invites you')))
  const desk = { opsUrl: service.opsUrl, env: service.env, folder: service.dataDir }
  const ada = await staffAtDesk(desk, { name: 'Ada', role: 'admin' })
  const sam = await staffAtDesk(desk, { name: 'Sam', role: 'support', by: ada.as })
  const words = ['member', 'recover', '--partner', partnerId, '--email', address, '--identified-by', 'Call']
  const proposed = await service.operator(...words, '--note', 'Lost phone', ...sam.as)
  const id = String(proposed['waits'])
  await assert.rejects(service.operator('change', 'approve', '--id', id, ...sam.as), /you proposed it/)
  await service.operator('change', 'approve', '--id', id, ...ada.as)
  const told = await mailTo(address, 'Recovery of a sign-in')
  assert.match(told, /Sam asks to let Joan Locked .* set a new way to sign in/)
  assert.match(told, /Reason: Lost phone/)
  const cancel = tokenIn(told)
  assert.equal(await statusOf(`/console/recover/cancel?token=${cancel}`), 200, 'the link alone cancels nothing')
  assert.equal(await statusOf(`/console/recover?token=${cancel}`), 404, 'it does not set a factor')
  const db = createDatabase({ url: service.databaseUrl, connectionsMax: 1, log: createLog('silent') })
  await db.run(sql`update users.recoveries set due_at = now() where partner_id = ${partnerId}`)
  await db.close()
  const link = tokenIn(await mailTo(address, 'A new way to sign in'))
  assert.equal(await statusOf(`/console/recover/cancel?token=${link}`), 404)
  assert.equal(await statusOf(`/console/recover?token=${link}`), 200)
  const foreign = await sendForm(
    new URL('/console/recover/cancel', service.baseUrl),
    { token: cancel },
    { 'sec-fetch-site': 'cross-site' },
  )
  assert.equal(foreign.status, 403)
  const form = await sendForm(new URL('/console/recover/cancel', service.baseUrl), { token: cancel })
  assert.equal(form.status, 200)
  assert.equal(await statusOf(`/console/recover?token=${link}`), 404)
  assert.match(await mailTo(address, ': cancelled'), /was cancelled: an Admin cancelled it/)
})
