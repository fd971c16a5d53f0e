// The packages of this directory, for ../prisma.mjs

export { PrismaPg } from '@prisma/adapter-pg';
export { PrismaClient } from './client/client.js';
