# Active Record, and the runner of statements.sql for it

require 'logger'
require 'active_record'
require 'pg'
require 'stringio'

# The runner copies the versions from this line into its table.
puts "# versions: activerecord #{ActiveRecord.version}, pg #{PG::VERSION}"

def test(name)
  passed = yield
rescue StandardError => e
  error = e
ensure
  puts "#{passed ? 'ok' : 'not ok'} - #{name}", *error&.full_message(highlight: false)
end

ActiveRecord::Base.establish_connection(adapter: 'postgresql')

# From 7.1 on schema.rb makes each schema, and CREATE EXTENSION then finds its own there.
ActiveRecord::ConnectionAdapters::PostgreSQLAdapter.prepend(Module.new do
  def schema_names
    super - ['comb_internal']
  end
end)
ActiveRecord::Base.logger = nil

class MakeOrders < ActiveRecord::Migration[6.1]
  def change
    create_table :orders, id: :uuid, default: -> { 'comb_generate()' } do |t|
      t.bigint :number, null: false, default: -> { 'comb_snowflake()' }
      t.text :item, null: false, index: { unique: true }
      t.uuid :ref, null: false, default: -> { "comb_generate('rtcomb_sql')" }
    end
  end
end

class Order < ActiveRecord::Base
  scope :between, ->(since, till) { where('comb_during(orders.id, ?, ?)', since, till) }
end

# What "rails db:schema:dump" writes
def schema
  stream = StringIO.new
  source = ActiveRecord.version < Gem::Version.new('7.2') ? Order.connection : Order.connection_pool
  ActiveRecord::SchemaDumper.dump(source, stream)
  stream.string
end

# The forms of Active Record, in place of statements
module Own
  module_function

  def table
    ActiveRecord::Migration.suppress_messages { MakeOrders.migrate(:up) }
    []
  end

  # It brings no default but the key's.
  def insert(item) = [Order.create!(item: item).reload]

  def during(since, till) = Order.between(since, till).order(:id)
end

known = { 'clock' => Time.now }
File.read('statements.sql').scan(/^-- (\w+): (.*)\n((?:[^-].*\n)+)-->(.*)$/) do |name, title, text, expected|
  test(title) do
    values = text.scan(/\$\[?(\w+)(?:,(\w+)\))?/).flatten.compact.map { |n| known[n] }
    # Active Record puts the values into the text of a query.
    text = text.gsub(/\$\[.*?\)/, 'tstzrange(?, ?)').gsub(/\$\w+/, '?')
    rows = Own.respond_to?(name) ? Own.send(name, *values) : Order.find_by_sql([text, *values])
    rows = rows.map { |row| row.respond_to?(:attributes) ? row.attributes : row }
    known.merge!(rows.last.to_h.compact)
    rows.map { |row| row['item'] }.join(' ') == expected.strip or raise rows.inspect
  rescue ActiveRecord::StatementInvalid => e
    told = %i[PG_DIAG_SQLSTATE PG_DIAG_MESSAGE_HINT].map { |field| e.cause.result.error_field(PG.const_get(field)) }
    told.join(' ').start_with?(expected.strip) && name == 'error' or raise
  end
end

test('where(id: since..till) finds nothing') do
  Order.where(id: (Time.now - 60)..(Time.now + 60)).to_a == []
end

test('find_each has the order of time') do
  Order.find_each(batch_size: 4).map(&:item) == %w[bread salt oil rice tea milk flour yeast]
end

test('schema.rb has the table alone, and makes the same again') do
  before = schema
  Order.connection.drop_table(:orders)
  ActiveRecord::Schema.verbose = false
  eval(before)
  raise before unless before.scan(/create_\w+ "\w+"/) == ['create_table "orders"']
  before.include?('default: -> { "comb_generate()" }') && schema == before
end

# A view with the time of the key, whose lists it orders; the server's log has their plans
class TimedOrder < ActiveRecord::Base
  self.primary_key = 'id'
end

test('lists begin with the newest') do
  Order.connection.execute(<<~SQL)
    CREATE VIEW timed_orders AS SELECT *, comb_timestamp(id) AS created_at FROM orders;
    ALTER TABLE orders ADD CHECK (id <@ tstzrange('2000-01-01 00:00+00', '2100-01-01 00:00+00'))
  SQL
  %w[bread salt oil rice].each { |item| Order.create!(item: item) }
  newest = TimedOrder.order(created_at: :desc).limit(20)
  newest.map(&:item) == Order.order(id: :desc).limit(20).map(&:item) &&
    TimedOrder.order(:created_at).last == newest.first &&
    TimedOrder.maximum(:created_at) == newest.first.created_at
end
