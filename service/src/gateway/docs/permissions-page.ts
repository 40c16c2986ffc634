/** The page of permissions, from the operations table and the rules of the roles. */
import { type Operation, operationIds, operations, permissions, roleAllows, users } from '@partner-payments/wire'
import { markdownTable } from '../../kernel/index.ts'

const { roles } = users

const yesOrNo = (allowed: boolean) => (allowed ? 'yes' : 'no')

export function permissionsPage(): string {
  const matrix = markdownTable(
    ['permission', ...roles],
    permissions.map((permission) => [
      `\`${permission}\``,
      ...roles.map((role) => yesOrNo(roleAllows(role, permission))),
    ]),
  )
  const rows = operationIds.map((id) => {
    const { method, path, permission, source, sandboxOnly }: Operation = operations[id]
    const where = sandboxOnly === true ? `${source}, sandbox` : source
    const allowed = roles.map((role) => yesOrNo(roleAllows(role, permission)))
    return [`\`${id}\``, `\`${method} ${path}\``, where, `\`${permission}\``, ...allowed]
  })
  return `# Permissions

Each operation requires one permission, \`<group>:read\` or \`<group>:write\`. Without that permission the response is 403
\`permission_denied\`. A service account has explicit permissions, which the operator sets when creating the account. A role
is a named set of permissions (\`wire/src/roles.ts\`). An impersonated session can only read: each write is refused with 403
\`impersonation_write_blocked\`.

## Permissions and roles

${matrix}

## Operations, permissions and roles

${markdownTable(['operation', 'endpoint', 'source', 'permission', ...roles], rows)}
`
}
