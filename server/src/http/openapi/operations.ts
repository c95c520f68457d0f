/** All operations by operationId, which generated clients use as the function name. */
import { credentialOperations } from './credential-operations.ts'
import { deviceOperations } from './device-operations.ts'
import { dialogOperations } from './dialog-operations.ts'
import type { Operation } from './operation.ts'
import { plainOperations } from './plain-operations.ts'
import { standardOperations } from './standard-operations.ts'

const byId = {
  ...deviceOperations,
  ...dialogOperations,
  ...credentialOperations,
  ...standardOperations,
  ...plainOperations,
}

export type OperationId = keyof typeof byId

export const operations: Readonly<Record<OperationId, Operation>> = byId
