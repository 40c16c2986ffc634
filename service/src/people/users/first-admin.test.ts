import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { permissions } from '@partner-payments/wire'
import { addPartner, createTestService, type Service } from '../../../../test/support/composition.ts'
import { codeOf, password } from '../../../../test/support/team.ts'
import { linkTokenOf, Refusal } from '../../kernel/api/index.ts'
import { randomBytes } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'

let service: Service
before(async () => {
  service = await createTestService()
})
after(() => service.close())

const isNotFound = (error: unknown) => error instanceof Refusal && error.code === 'not_found'
const email = 'grace@example.com'

async function invite() {
  const { caller, partnerId } = await addPartner(service)
  const invitations = [{ email, fullName: 'Grace Hopper', role: 'Admin' as const }]
  await service.users.createInvitations(caller, { invitations })
  return { partnerId, token: (await service.firstAdmin.tokenOf(partnerId)) ?? '' }
}

test('the link of the first Admin opens until the partner has a member, and only the one of its partner', async () => {
  const { firstAdmin, members, clock } = service
  const { partnerId, token } = await invite()
  assert.equal((await firstAdmin.partnerOf(token)).partnerId, partnerId)
  const other = (await addPartner(service)).partnerId
  const forged = linkTokenOf(other, Buffer.from(token, 'base64url').subarray(16))
  for (const wrong of ['', 'x', `${token}A`, forged, linkTokenOf(partnerId, randomBytes(32))])
    await assert.rejects(firstAdmin.partnerOf(wrong), isNotFound, wrong)
  await assert.rejects(firstAdmin.invitationOf(token, 'stranger@example.com'), isNotFound)
  const earlier = await firstAdmin.invitationOf(token, email)
  const invitation = await firstAdmin.invitationOf(token, 'GRACE@example.com')
  await assert.rejects(members.openInvitation(earlier), isNotFound, 'the page was sent again')
  const { totpSecret } = await members.openInvitation(invitation)
  const given = { kind: 'password', password, code: codeOf(totpSecret, clock.now().getTime()) } as const
  const client = { ip: '203.0.113.7', userAgent: 'Test browser' }
  const { token: session } = await members.join(invitation, given, client)
  assert.equal((await members.signedIn(session))?.user.role, 'Admin')
  await assert.rejects(firstAdmin.partnerOf(token), isNotFound)
  await assert.rejects(firstAdmin.invitationOf(token, email), isNotFound)
  assert.equal(await firstAdmin.tokenOf(partnerId), undefined)
})

test('the mail of an invitation that the page has opened is not sent', async () => {
  const { partnerId, token } = await invite()
  await service.firstAdmin.invitationOf(token, email)
  const mails = await service.db.rows<{ status: string }>(
    sql`select status from mail.messages where partner_id = ${partnerId}`,
  )
  assert.deepEqual(
    mails.map(({ status }) => status === 'pending'),
    [false],
  )
})

test('the link of a partner that is being moved opens nothing', async () => {
  const { partnerId, token } = await invite()
  const account = { partnerId, name: 'Test account', permissions }
  await service.db.transaction((tx) => service.access.createServiceAccount(tx, account))
  await service.db.transaction((tx) => service.access.closeCredentials(tx, partnerId))
  await assert.rejects(service.firstAdmin.partnerOf(token), isNotFound)
  await assert.rejects(service.firstAdmin.invitationOf(token, email), isNotFound)
  await service.db.transaction((tx) => service.access.openCredentials(tx, partnerId))
  assert.equal((await service.firstAdmin.partnerOf(token)).partnerId, partnerId)
})
