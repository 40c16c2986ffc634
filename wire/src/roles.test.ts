import assert from 'node:assert/strict'
import { test } from 'node:test'
import { permissions } from './operations.ts'
import { roleAllows } from './roles.ts'

const permissionsOf = (role: 'Admin' | 'Developer' | 'Operator') => permissions.filter((each) => roleAllows(role, each))

test('Admin has every permission', () => {
  assert.deepEqual(permissionsOf('Admin'), permissions)
})

test('Developer has every read permission, and writes only webhooks and simulations', () => {
  const reads = permissions.filter((each) => each.endsWith(':read'))
  assert.deepEqual(permissionsOf('Developer'), [...reads, 'simulations:write', 'webhooks:write'].sort())
})

test('Operator reads and writes the groups of money and customers, reads transactions, and nothing else', () => {
  assert.deepEqual(permissionsOf('Operator'), [
    'accounts:read',
    'accounts:write',
    'beneficiaries:read',
    'beneficiaries:write',
    'checkout:read',
    'checkout:write',
    'customers:read',
    'customers:write',
    'fx:read',
    'fx:write',
    'payouts:read',
    'payouts:write',
    'reports:read',
    'reports:write',
    'transactions:read',
    'wallets:read',
    'wallets:write',
  ])
})

test('Developer cannot create payouts', () => {
  assert.equal(roleAllows('Developer', 'payouts:write'), false)
  assert.equal(roleAllows('Operator', 'payouts:write'), true)
})
