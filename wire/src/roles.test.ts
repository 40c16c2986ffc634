import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissions } from './operations.ts'
import { roleAllows, rolesAllowed } from './roles.ts'

const held = (role: 'Admin' | 'Developer' | 'Operator') => permissions.filter((each) => roleAllows(role, each))

test('Admin holds every permission', () => {
  assert.deepEqual(held('Admin'), permissions)
})

test('Developer reads everything, and writes webhooks and simulations only', () => {
  const reads = permissions.filter((each) => each.endsWith(':read'))
  assert.deepEqual(held('Developer'), [...reads, 'simulations:write', 'webhooks:write'].sort())
})

test('Operator holds the groups of daily business and no other', () => {
  assert.deepEqual(held('Operator'), [
    'accounts:read',
    'accounts:write',
    'beneficiaries:read',
    'beneficiaries:write',
    'customers:read',
    'customers:write',
    'payouts:read',
    'payouts:write',
  ])
})

test('no Developer moves money', () => {
  assert.deepEqual(rolesAllowed('payouts:write'), ['Admin', 'Operator'])
})
